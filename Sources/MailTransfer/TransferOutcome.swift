/// What happened to a message that was sent.
package enum TransferOutcome: Hashable, Sendable {
    case accepted
    /// The receiver's side refuses this message, and would refuse it again.
    case refused(reason: String)
    /// - Parameter mayHaveArrived: whether the message may have been accepted all the same, so that a retry may be its
    ///   second delivery.
    case failed(reason: String, mayHaveArrived: Bool)
}
