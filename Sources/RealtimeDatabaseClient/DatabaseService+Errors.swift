import DocumentModel
import GoogleREST
import OutboundHTTP
import StrictJSON

extension DatabaseService {
    /// The error of a refusal, as the host's own databases have it.
    func refusal(_ answer: OutboundResponse) -> DocumentError {
        let body = try? JSONValue(parsing: answer.body)
        var message = body?["error"]?.stringValue ?? "the Realtime Database returned status \(answer.status)"
        switch answer.status {
        case 400: return DocumentError(Self.code(ofInvalid: message), message)
        case 401, 403:
            if tokens != nil {
                message +=
                    "; the service account needs the role Firebase Realtime Database Admin "
                    + "(roles/firebasedatabase.admin)"
            }
            return DocumentError(.permissionDenied, message)
        case 404:
            // A database of another region.
            if let url = body?["correctUrl"]?.stringValue { message += "; its address is \(url)" }
            return DocumentError(.notFound, message)
        case 412: return DocumentError(.aborted, "the data have changed since they were read")
        case 413: return DocumentError(.resourceExhausted, message)
        case 414, 431: return DocumentError(.invalidArgument, "the path or the query is too long: \(message)")
        // The database is disabled or locked.
        case 423: return DocumentError(.failedPrecondition, message)
        case let status: return DocumentError(StatusCode(httpStatus: status), message)
        }
    }

    /// All of these have one status.
    private static func code(ofInvalid message: String) -> StatusCode {
        if message.hasPrefix("Index not defined") { return .failedPrecondition }
        let isLimit = ["exceeds the maximum size", "too many nodes"].contains { message.contains($0) }
        return isLimit ? .resourceExhausted : .invalidArgument
    }
}

extension DocumentError {
    static let invocationOver = DocumentError(.cancelled, "the invocation is over")

    static func unreadable(_ reason: String) -> DocumentError {
        DocumentError(.internal, "the response of the Realtime Database is invalid: \(reason)")
    }

    init(_ failure: OutboundError, maxTime: Duration, isWrite: Bool = false) {
        let caveat = isWrite ? "; the change may have been made" : ""
        switch failure.kind {
        case .notSent:
            self.init(.unavailable, "the Realtime Database can't be reached: \(failure)")
        case .lost:
            self.init(.unavailable, "the response of the Realtime Database was lost: \(failure)\(caveat)")
        case .timedOut:
            self.init(
                .deadlineExceeded,
                "the Realtime Database didn't respond within \(maxTime.components.seconds) s\(caveat)")
        case .cancelled: self = .invocationOver
        case .tooLarge, .outOfMemory:
            self.init(
                .resourceExhausted,
                "the response of the Realtime Database exceeds the limit of "
                    + "\(DatabaseService.maxAnswerBytes / 1_048_576) MiB; read less, or page by key\(caveat)")
        }
    }
}
