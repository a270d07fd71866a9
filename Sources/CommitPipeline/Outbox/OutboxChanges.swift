package import DocumentModel

/// What one durable batch changed in the outbox.
package struct OutboxChanges: Sendable {
    /// The limits on the deliveries that one batch passes on with their events. Beyond them it reports only that there
    /// are more.
    private static let maxDeliveries = 5000
    private static let maxBytes = 8 * 1024 * 1024

    /// Deliveries that are due now.
    package private(set) var due: [StoredDelivery] = []
    /// Deliveries that an operator changed: dropped, dead-lettered, moved behind another, or requeued.
    package private(set) var withdrawn: Set<DeliveryID> = []
    /// Deliveries that were dead letters from the start.
    package private(set) var dead: [Delivery] = []
    /// Completed deliveries; the dispatcher needn't wake up for them.
    private(set) var ended: [DeliveryEnd] = []
    private var earliest: [String: Timestamp] = [:]
    /// When the first delivery that was stored of each function is due.
    private(set) var stored: [String: Timestamp] = [:]
    private var bytes = 0

    /// Functions that have further deliveries, with the time when the first of them is due, which may be now.
    package var later: [(function: String, due: Timestamp)] { earliest.map { ($0.key, $0.value) } }

    var isEmpty: Bool { due.isEmpty && withdrawn.isEmpty && dead.isEmpty && earliest.isEmpty }

    /// Whether there is room for another event.
    var hasRoom: Bool { due.count < Self.maxDeliveries && bytes < Self.maxBytes }

    mutating func add(due stored: StoredDelivery) {
        withdrawn.remove(stored.delivery.id)
        due.append(stored)
        bytes += stored.event.count
    }

    mutating func add(_ function: String, due: Timestamp) {
        earliest[function] = min(earliest[function] ?? due, due)
    }

    /// A delivery was stored that is due at a time.
    mutating func note(_ function: String, due: Timestamp) {
        stored[function] = min(stored[function] ?? due, due)
    }

    mutating func add(dead delivery: Delivery) { dead.append(delivery) }

    mutating func add(_ end: DeliveryEnd) { ended.append(end) }

    mutating func withdraw(_ id: DeliveryID) { withdrawn.insert(id) }

    /// Removes the due deliveries that were withdrawn within the same batch.
    mutating func removeWithdrawn() {
        if !withdrawn.isEmpty { due.removeAll { withdrawn.contains($0.delivery.id) } }
    }
}
