import StorageEngine
import DocumentModel

/// An ordering queue holds the deliveries to one function whose events have the same order key, such as one document's
/// changes. Dead letters aren't part of it.
///
/// Exactly one of them is pending, and the others wait. The pending one is the first, unless the first was requeued
/// during an attempt of a later one.
extension Delivery {
    /// The common prefix of its ordering queue's keys; nil if the delivery isn't ordered.
    var orderingQueue: [UInt8]? { orderKey.map { OutboxKey.ordered($0, of: id.function) } }
}

extension OutboxBatch {
    /// Makes the next delivery of an ordering queue due, if the one that leaves was pending.
    ///
    /// - Parameter delivery: its state before it ended.
    func leaveOrderingQueue(_ delivery: Delivery, at now: Timestamp) throws {
        guard let queue = delivery.orderingQueue else { return }
        switch delivery.state {
        case .dead: return
        case .waiting: try storage.delete(.deliveries, queue + OutboxKey.event(delivery.id.event))
        case .pending:
            try storage.delete(.deliveries, queue + OutboxKey.event(delivery.id.event))
            guard case .event(let head) = try firstPlace(in: queue, of: delivery.id.function) else { return }
            try promote(DeliveryID(event: head, function: delivery.id.function), at: now)
        }
    }

    /// Puts a dead letter back into its ordering queue, at its event's place.
    ///
    /// - Returns: whether it is pending. It isn't if the queue's first delivery precedes it or is leased.
    func rejoin(_ delivery: Delivery) throws -> Bool {
        guard let queue = delivery.orderingQueue else { return true }
        let first = try firstPlace(in: queue, of: delivery.id.function)
        var isNext = first == .empty
        if case .event(let event) = first {
            let id = DeliveryID(event: event, function: delivery.id.function)
            // If the first delivery waits, a later one is being attempted.
            if delivery.id.event < event, let head = try storage.readableDelivery(id), head.due != nil,
                hold(id) || hasEnded(id)
            {
                var waiting = head
                waiting.state = .waiting
                try storage.deleteRows(of: head)
                try store(waiting)
                changes.withdraw(id)
                isNext = true
            }
        }
        try queues.put(delivery.id.event, in: queue, storage)
        return isNext
    }

    /// The first delivery of a pending delivery's queue, if that is another one.
    func headBefore(_ delivery: Delivery) throws -> DeliveryID? {
        guard let queue = delivery.orderingQueue,
            case .event(let event) = try firstPlace(in: queue, of: delivery.id.function), event < delivery.id.event
        else {
            return nil
        }
        return DeliveryID(event: event, function: delivery.id.function)
    }

    /// The beginning of an ordering queue.
    enum FirstPlace: Hashable {
        /// The queue is empty.
        case empty
        case event(EventID)
        /// The places can't be read. What joins them waits, so that nothing is delivered too early.
        case unreadable
    }

    /// The first place in an ordering queue. If it can't be read, only that queue waits: commits of others may be in
    /// the batch.
    func firstPlace(in queue: [UInt8], of function: String) throws -> FirstPlace {
        do {
            return try queues.first(in: queue, storage).map { .event($0) } ?? .empty
        } catch let error as StorageError where error.kind == .damaged {
            damage.note(error, "ordering the deliveries to \(function)")
            return .unreadable
        }
    }

    /// Makes a waiting delivery pending. One that can't be read, or is missing although it has a place, becomes due too,
    /// as it is: the dispatcher names it, and its queue waits until it is repaired.
    func promote(_ id: DeliveryID, at now: Timestamp) throws {
        var next: Delivery
        do {
            guard let found = try storage.delivery(id) else { throw DecodingFailure("the delivery is missing") }
            guard found.state == .waiting else { return }
            next = found
        } catch is DecodingFailure {
            try storage.put(.deliveries, OutboxKey.due(now, id), [])
            changes.note(id.function, due: now)
            return changes.add(id.function, due: now)
        }
        next.state = .pending(due: now)
        try store(next)
        try announce(next, at: now)
    }
}
