import DocumentModel
package import WorkerProtocol
package import NIOCore

/// How an invocation ended.
package enum InvocationOutcome {
    /// The handler returned: a callable's result as JSON, or the end of an HTTP function's body.
    case result(ByteBuffer)
    /// The handler failed, or the host answered before it ended: its deadline passed, or the host stops.
    case failure(InvocationFailure)
    /// No handler ran for it: no worker was free in time, none could be started, or its client left.
    case notStarted(InvocationFailure)
    /// The worker's process ended before the handler did.
    ///
    /// - Parameter wasAlone: whether the process ran nothing else; otherwise another invocation may have ended it.
    case lost(WorkerEnd, wasAlone: Bool)

    /// The failure that the client sees; nil if the handler returned.
    package var failure: InvocationFailure? {
        switch self {
        case .result: nil
        case .failure(let failure), .notStarted(let failure): failure
        case .lost: .internal
        }
    }

    var wasStarted: Bool { if case .notStarted = self { false } else { true } }
}

extension InvocationFailure {
    /// The callable protocol's messages for what the host itself refuses.
    package static let deadlineExceeded = InvocationFailure(code: .deadlineExceeded, message: "DEADLINE_EXCEEDED")
    static let queueFull = InvocationFailure(code: .resourceExhausted, message: "Too many calls are waiting.")
    package static let stopping = InvocationFailure(code: .unavailable, message: "The server is stopping.")
    package static let `internal` = InvocationFailure(code: .internal, message: "INTERNAL")
    static let keyReused = InvocationFailure(
        code: DocumentError.keyReused.code, message: DocumentError.keyReused.message)
    /// Never sent: it ends attempts at deliveries that another release makes instead.
    package static let displaced = InvocationFailure(code: .unavailable, message: "Another release has taken over.")
    /// Never sent, because the client has left.
    static let cancelled = InvocationFailure(code: .cancelled, message: "CANCELLED")
}
