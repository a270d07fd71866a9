import DocumentModel
import Crypto
import TextFormats

/// A kept answer, stored as a document among all others.
///
/// It is written in the commit of the invocation that it answers. The host never deletes it; a TTL policy on the field
/// `expires` can.
enum RemoteCompletion {
    /// A collection that functions must not use.
    static let collection = "functions-host-completions"
    /// The most bytes of an answer that fit into a document beside its other fields.
    private static let maxAnswer = 1_000_000

    /// The document's id is a digest, because keys and user ids may have any length and contain any byte.
    static func path(of key: CompletionKey) throws(DocumentError) -> DocumentPath {
        let text = "\(key.scope.utf8.count) \(key.scope)\(key.key)"
        let digits = Hexadecimal.encode(SHA256.hash(data: Array(text.utf8)))
        return try DocumentPath("\(collection)/\(digits)")
    }

    /// - Parameter answer: nil if the work begins.
    /// - Throws: `failedPrecondition` if the answer doesn't fit into a document.
    static func write(
        _ answer: [UInt8]?, for key: CompletionKey, _ precondition: Write.Precondition?, at now: Timestamp
    ) throws(DocumentError) -> Write {
        guard answer?.count ?? 0 <= maxAnswer else {
            throw DocumentError(
                .failedPrecondition,
                "the response has \(answer?.count ?? 0) bytes; with an Idempotency-Key, a standalone function may return "
                    + "at most \(maxAnswer)")
        }
        var fields: [String: Value] = [
            "fingerprint": .bytes(key.fingerprint),
            "expires": .timestamp(now.after(seconds: Double(key.keptFor.components.seconds)).truncatedToMicroseconds),
        ]
        fields["answer"] = answer.map { .bytes($0) }
        return Write(path: try path(of: key), operation: .set(fields), precondition: precondition)
    }

    enum State: Equatable {
        case answered([UInt8])
        case begun
        case otherData
        /// The call runs again.
        case expired
    }

    static func state(of key: CompletionKey, in document: Document, at now: Timestamp) -> State {
        guard case .bytes(let fingerprint)? = document.fields["fingerprint"],
            case .timestamp(let expires)? = document.fields["expires"], expires > now
        else { return .expired }
        guard fingerprint == key.fingerprint else { return .otherData }
        guard case .bytes(let answer)? = document.fields["answer"] else { return .begun }
        return .answered(answer)
    }

    /// The answer to a transaction's begin with this key; nil if the call runs again.
    static func answer(to key: CompletionKey, in document: Document, at now: Timestamp) -> BeginAnswer? {
        switch state(of: key, in: document, at: now) {
        case .answered(let answer): .completed(answer)
        case .otherData: .keyReused
        case .begun, .expired: nil
        }
    }
}
