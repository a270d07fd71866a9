package import CommitPipeline
package import DocumentModel
import DocumentStore
package import WorkerProtocol

/// Runs a function's handler for deliveries.
package protocol DeliveryLauncher: Sendable {
    /// Returns immediately.
    func launch(_ starts: [DeliveryStart])
}

/// One attempt at a delivery.
package struct DeliveryStart: Sendable {
    package var stored: StoredDelivery
    package var lease: DeliveryLease
    /// Called when the handler starts.
    package var onStart: @Sendable () -> Void
    /// Called when the attempt has failed. Its handler may still be running; the lease is revoked, so that its later
    /// commits are refused.
    package var onFailure: @Sendable () -> Void
    /// Called once, when no process runs the handler any more.
    package var onEnd: @Sendable (AttemptEnd, AttemptExecution) -> Void
}

/// The execution of an attempt's handler, for the log.
package struct AttemptExecution: Equatable, Sendable {
    /// Nil if there was none.
    package var id: String?
    /// What the handler threw; nil if it threw nothing, or only after the host had ended the attempt.
    package var failure: InvocationFailure?

    package init(id: String? = nil, failure: InvocationFailure? = nil) {
        self.id = id
        self.failure = failure
    }
}

/// How an attempt at a delivery ended.
package enum AttemptEnd: Equatable, Sendable {
    case succeeded
    /// The handler's own commit has ended the delivery.
    case completed
    /// The handler failed, or its process ended while it ran nothing else.
    case failed(DeliveryFailure)
    /// The process ended, for this reason, while it ran several invocations: any of them may have caused it.
    case lostInCompany(String)
    /// There was no process for the handler.
    case notStarted(String)
    /// The function is paused or its budget is used up.
    case refused
    /// Another release has taken over before a handler was started.
    case displaced
    /// No attempt can succeed: the event can't be decoded, or its handler says so.
    case failedForGood(DeliveryFailure)
    /// The host is stopping. The delivery is left as if it hadn't been attempted.
    case returned
}
