import DocumentModel
import NIOCore
import WorkerProtocol

extension InvocationFailure {
    /// What the caller is told of an error: the author's explicit one as it is, of any other only that it happened.
    ///
    /// A transaction that lost every try is the caller's to try again, and says so.
    package init(_ error: any Error) {
        switch error {
        case let error as HttpsError:
            let details = error.details.flatMap { try? CallableEncoder().encode($0) }
            self.init(code: error.code, message: error.message, details: details.map { ByteBuffer(bytes: $0) })
        case let error as DocumentError where error.code == .aborted:
            self.init(code: .aborted, message: "The transaction lost to others too often. Try again.")
        case is CancellationError:
            self.init(code: .cancelled, message: "CANCELLED")
        default:
            self.init(code: .internal, message: "INTERNAL")
        }
    }

    /// What the host is told of an event's error: all of it. Nobody but the operator sees it, as the reason of a try that
    /// failed.
    package init(ofEvent error: any Error) {
        self.init(error)
        let text =
            switch error {
            case let error as HttpsError: error.message
            case let error as DecodingError: error.explanation
            case let error as EncodingError: error.explanation
            default: "\(error)"
            }
        message =
            text.utf8.count <= Self.maxReason
            ? text : String(decoding: text.utf8.prefix(Self.maxReason), as: UTF8.self) + "…"
    }

    /// Of bytes: a delivery keeps the reason of its last failure.
    private static let maxReason = 4096
}
