package import DocumentModel
package import DocumentStore

/// Runs a function's handler for deliveries.
package protocol DeliveryLauncher: Sendable {
    /// Never waits.
    func launch(_ starts: [DeliveryStart])
}

/// One try at a delivery.
package struct DeliveryStart: Sendable {
    package var stored: StoredDelivery
    package var lease: DeliveryLease
    /// Called when the handler starts.
    package var onStart: @Sendable () -> Void
    /// Called when it has failed though its handler may still run: nothing that is committed from then on counts.
    package var onFailure: @Sendable () -> Void
    /// Called once, when no process runs the handler any more.
    package var onEnd: @Sendable (TryEnd) -> Void
}

/// How a try at a delivery ended.
package enum TryEnd: Equatable, Sendable {
    case succeeded
    /// The handler's own commit has ended the delivery.
    case completed
    /// The handler failed, or its process ended while it was at nothing else.
    case failed(DeliveryFailure)
    /// The process ended, in these words, while it was at several invocations: any of them may be why.
    case lostInCompany(String)
    /// No process was there for the handler.
    case notStarted(String)
    /// The event can't be read, at no try.
    case unreadable(String)
    /// It says nothing of the handler, since the host stops: the delivery is as if it hadn't been tried.
    case givenBack
}
