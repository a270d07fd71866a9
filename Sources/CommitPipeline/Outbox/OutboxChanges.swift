package import DocumentModel

/// What one durable batch changed in the outbox.
package struct OutboxChanges: Sendable {
    /// The bounds of deliveries that one batch brings with their events. Of the others it says only that they exist.
    private static let maxDeliveries = 5000
    private static let maxBytes = 8 * 1024 * 1024

    /// Deliveries that are due now.
    package private(set) var due: [StoredDelivery] = []
    /// Deliveries that an operator changed: dropped, dead-lettered, put behind another, or requeued.
    package private(set) var withdrawn: Set<DeliveryID> = []
    /// Deliveries that were dead letters from the start.
    package private(set) var dead: [Delivery] = []
    /// Completed deliveries; the dispatcher needn't wake up for them.
    private(set) var ended: [DeliveryEnd] = []
    private var earliest: [String: Timestamp] = [:]
    private var bytes = 0

    /// Functions that have further deliveries, with the time that the first of them is due, which may be now.
    package var later: [(function: String, due: Timestamp)] { earliest.map { ($0.key, $0.value) } }

    var isEmpty: Bool { due.isEmpty && withdrawn.isEmpty && dead.isEmpty && earliest.isEmpty }

    /// Whether another event may be brought.
    var hasRoom: Bool { due.count < Self.maxDeliveries && bytes < Self.maxBytes }

    mutating func add(due stored: StoredDelivery) {
        withdrawn.remove(stored.delivery.id)
        due.append(stored)
        bytes += stored.event.count
    }

    mutating func add(_ function: String, due: Timestamp) {
        earliest[function] = min(earliest[function] ?? due, due)
    }

    mutating func add(dead delivery: Delivery) { dead.append(delivery) }

    mutating func add(_ end: DeliveryEnd) { ended.append(end) }

    mutating func withdraw(_ id: DeliveryID) { withdrawn.insert(id) }

    /// Removes what was withdrawn again within the batch.
    mutating func removeWithdrawn() {
        if !withdrawn.isEmpty { due.removeAll { withdrawn.contains($0.delivery.id) } }
    }
}
