package import DocumentModel

/// What came into the outbox with one durable batch.
package struct OutboxNews: Sendable {
    /// How many deliveries one batch tells with their events, and how many bytes of these. The others are only told to
    /// be there.
    private static let maxDeliveries = 5000
    private static let maxBytes = 8 * 1024 * 1024

    /// Deliveries that are due now.
    package private(set) var due: [StoredDelivery] = []
    /// Those that are not as they were told, by hand: they are gone, dead, wait for another, or begin anew.
    package private(set) var withdrawn: Set<DeliveryID> = []
    /// Those that were dead letters from the start.
    package private(set) var dead: [Delivery] = []
    /// Those that are over, whoever ended them. They alone are no news for who works on deliveries.
    private(set) var ended: [DeliveryEnd] = []
    private var earliest: [String: Timestamp] = [:]
    private var bytes = 0

    /// Functions that have deliveries besides, due at these times at the earliest, which may be now.
    package var later: [(function: String, due: Timestamp)] { earliest.map { ($0.key, $0.value) } }

    var isEmpty: Bool { due.isEmpty && withdrawn.isEmpty && dead.isEmpty && earliest.isEmpty }

    /// Whether an event is worth being brought.
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

    /// Without what was withdrawn again within the batch.
    mutating func settle() {
        if !withdrawn.isEmpty { due.removeAll { withdrawn.contains($0.delivery.id) } }
    }
}
