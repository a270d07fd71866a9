import DocumentModel
import Crypto

/// The answer that was given under an idempotency key, as a document beside all others.
///
/// It is written in the commit that the answer belongs to. Nothing deletes it here: a policy that deletes documents by
/// their field `expires` does, where there is one.
enum RemoteCompletion {
    /// Not for functions to use.
    static let collection = "functions-host-completions"
    /// Bytes of an answer that a document holds beside its other fields.
    private static let maxAnswer = 1_000_000

    /// The key's digest: keys and users' ids may have any length and hold any byte.
    static func path(of key: CompletionKey) throws(DocumentError) -> DocumentPath {
        let text = "\(key.scope.utf8.count) \(key.scope)\(key.key)"
        let digits = SHA256.hash(data: Array(text.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return try DocumentPath("\(collection)/\(digits.joined())")
    }

    /// - Throws: `failedPrecondition` where a document can't hold the answer.
    static func write(
        _ answer: [UInt8], for key: CompletionKey, _ precondition: Write.Precondition, at now: Timestamp
    ) throws(DocumentError) -> Write {
        guard answer.count <= maxAnswer else {
            throw DocumentError(
                .failedPrecondition,
                "the answer has \(answer.count) bytes; under an Idempotency-Key a function that is served alone may answer "
                    + "\(maxAnswer), the limit")
        }
        let fields: [String: Value] = [
            "fingerprint": .bytes(key.fingerprint), "answer": .bytes(answer),
            "expires": .timestamp(now.after(seconds: Double(key.keptFor.components.seconds)).truncatedToMicroseconds),
        ]
        return Write(path: try path(of: key), operation: .set(fields), precondition: precondition)
    }

    /// The answer to somebody who comes with the key; nil where its time is over, so that the work is done anew.
    static func response(to key: CompletionKey, in document: Document, at now: Timestamp) -> DocumentResponse? {
        guard case .bytes(let fingerprint)? = document.fields["fingerprint"],
            case .bytes(let answer)? = document.fields["answer"],
            case .timestamp(let expires)? = document.fields["expires"], expires > now
        else { return nil }
        guard fingerprint == key.fingerprint else {
            return .failed(.invalidArgument("this Idempotency-Key was used with other data"))
        }
        return .completed(answer)
    }
}
