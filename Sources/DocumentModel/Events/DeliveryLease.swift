/// That one function must be told of one event.
package struct DeliveryID: Hashable, Sendable {
    package var event: EventID
    package var function: String

    package init(event: EventID, function: String) {
        self.event = event
        self.function = function
    }
}

/// The right to work on a delivery. It ends when the delivery does, or when it is taken back: then nothing is committed
/// under it any more.
package struct DeliveryLease: Hashable, Sendable {
    package var id: DeliveryID
    package let token: UInt64

    package init(id: DeliveryID, token: UInt64) {
        self.id = id
        self.token = token
    }
}
