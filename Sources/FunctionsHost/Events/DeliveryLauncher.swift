import DocumentModel
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
    /// Called once, when no process runs the handler any more.
    package var onEnd: @Sendable (TryEnd) -> Void
}

/// How a try at a delivery ended.
package enum TryEnd: Equatable, Sendable {
    case succeeded
    /// The handler's own commit has ended the delivery.
    case completed
    case failed(DeliveryFailure)
    /// It says nothing of the handler, since the host stops: the delivery is as if it hadn't been tried.
    case givenBack
}
