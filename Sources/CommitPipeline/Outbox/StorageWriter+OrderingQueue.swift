import StorageEngine
import DocumentModel

/// An ordering queue holds the deliveries to one function whose events have one order key, such as one document's
/// changes, without the dead ones.
///
/// Exactly one of them is pending, and the others wait. It is the first one, unless that was requeued while a later one
/// was worked on.
extension Delivery {
    /// What the keys of its ordering queue start with; nil if the order is free.
    var orderingQueue: [UInt8]? { orderKey.map { OutboxKey.ordered($0, of: id.function) } }
}

extension StorageWriter {
    /// Makes the next delivery of an ordering queue due, if the leaving one was pending.
    ///
    /// - Parameter delivery: as it was before it ended.
    func leaveOrderingQueue(_ delivery: Delivery, at now: Timestamp, _ changes: inout OutboxChanges) throws {
        guard let queue = delivery.orderingQueue else { return }
        switch delivery.state {
        case .dead: return
        case .waiting: try delete(.deliveries, queue + OutboxKey.event(delivery.id.event))
        case .pending:
            try delete(.deliveries, queue + OutboxKey.event(delivery.id.event))
            guard let head = try first(in: queue) else { return }
            try promote(DeliveryID(event: head, function: delivery.id.function), at: now, &changes)
        }
    }

    /// Puts a dead letter back in its ordering queue, in the place of its event.
    ///
    /// - Returns: whether it is pending. It isn't if the queue's first is before it, or is leased.
    func rejoin(_ delivery: Delivery, _ hold: (DeliveryID) -> Bool, _ changes: inout OutboxChanges) throws -> Bool {
        guard let queue = delivery.orderingQueue else { return true }
        var isNext = true
        if let event = try first(in: queue) {
            let id = DeliveryID(event: event, function: delivery.id.function)
            isNext = false
            // A first delivery that waits does so because a later one is worked on.
            if delivery.id.event < event, let head = try readableDelivery(id), head.due != nil, hold(id) {
                var waiting = head
                waiting.state = .waiting
                try take(head)
                try store(waiting)
                changes.withdraw(id)
                isNext = true
            }
        }
        try put(.deliveries, queue + OutboxKey.event(delivery.id.event), [])
        return isNext
    }

    /// The first delivery of the queue of a pending one, if that is another.
    func headBefore(_ delivery: Delivery) throws -> DeliveryID? {
        guard let queue = delivery.orderingQueue, let event = try first(in: queue), event < delivery.id.event else {
            return nil
        }
        return DeliveryID(event: event, function: delivery.id.function)
    }

    /// Makes a waiting delivery pending.
    func promote(_ id: DeliveryID, at now: Timestamp, _ changes: inout OutboxChanges) throws {
        // One that can't be read stays where it is, for the check to report.
        guard var next = try readableDelivery(id), next.state == .waiting else { return }
        next.state = .pending(due: now)
        try store(next)
        try announce(next, at: now, &changes)
    }
}

extension StorageReader {
    func first(in queue: [UInt8]) throws -> EventID? {
        var first: EventID?
        try scanKeys(.deliveries, KeyRange(prefix: queue), reverse: false) { key in
            first = try? OutboxKey.event(at: key)
            return false
        }
        return first
    }
}
