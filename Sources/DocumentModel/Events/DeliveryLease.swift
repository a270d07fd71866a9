/// One event to deliver to one function.
package struct DeliveryID: Hashable, Sendable {
    package var event: EventID
    package var function: String

    package init(event: EventID, function: String) {
        self.event = event
        self.function = function
    }
}

/// The right to handle a delivery. It ends with the delivery, or when it is revoked; commits under it then fail.
package struct DeliveryLease: Hashable, Sendable {
    package var id: DeliveryID
    package let token: UInt64

    package init(id: DeliveryID, token: UInt64) {
        self.id = id
        self.token = token
    }
}
