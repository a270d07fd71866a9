import DocumentModel
import NIOCore
import WorkerProtocol

extension InvocationFailure {
    /// The error for the caller: the author's `HttpsError` unchanged, any other error as INTERNAL without details.
    ///
    /// A transaction that lost every attempt can be retried by the caller, and the message says so.
    ///
    /// - Parameter isCancelled: whether the handler was cancelled. Otherwise a `CancellationError` is an error like any
    ///   other, and so is that of a cancelled operation.
    package init(_ error: any Error, isCancelled: Bool) {
        switch error {
        case let error as HttpsError:
            let details = error.details.flatMap { try? CallableEncoder.details.encode($0) }
            self.init(code: error.code, message: error.message, details: details.map { ByteBuffer(bytes: $0) })
        case let error as DocumentError where error.code == .aborted:
            self.init(code: .aborted, message: "The transaction conflicted with other transactions. Try again.")
        case is CancellationError where isCancelled:
            self.init(code: .cancelled, message: "CANCELLED")
        // The operations of an invocation that has been answered are refused.
        case let error as DocumentError where error.code == .cancelled && isCancelled:
            self.init(code: .cancelled, message: "CANCELLED")
        default:
            self.init(code: .internal, message: "INTERNAL")
        }
    }

    /// The complete error of an event, for the host. Only the operator sees it, as the reason of a failed attempt.
    package init(ofEvent error: any Error) {
        let cause = (error as? UnreadableEvent)?.cause ?? error
        self.init(cause, isCancelled: true)
        let text =
            switch cause {
            case let error as HttpsError: error.message
            case let error as DecodingError: error.explanation
            case let error as EncodingError: error.explanation
            default: "\(cause)"
            }
        isPermanent = error is PermanentFailure || error is UnreadableEvent
        errorType = "\(type(of: cause))"
        message =
            text.utf8.count <= Self.maxReason
            ? text : String(decoding: text.utf8.prefix(Self.maxReason), as: UTF8.self) + "…"
    }

    /// In bytes: a delivery stores the reason of its last failure.
    private static let maxReason = 4096
}
