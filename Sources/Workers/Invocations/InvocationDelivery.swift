package import DocumentModel

/// The delivery that an invocation is an attempt at. Belongs to the invocation's loop.
package final class InvocationDelivery {
    let lease: DeliveryLease
    /// The functions whose handling of events led to what the handler does, its own the last.
    let chain: [String]
    /// Whether a commit of the handler has ended the delivery.
    package internal(set) var isDone = false

    package init(lease: DeliveryLease, chain: [String]) {
        self.lease = lease
        self.chain = chain
    }
}
