import StorageEngine
import DocumentModel

/// A function that an event is delivered to.
struct EventReceiver: Hashable {
    var function: String
    var due: Timestamp
    /// The key that orders the function's events, such as a document.
    var orderKey: [UInt8]?
    var taskName: String?
    /// Why the delivery is a dead letter from the start.
    var deadBecause: String?
}

// These functions read before they write, and skip what is damaged: one row that a disk has corrupted must not fail the
// commits of all callers in the batch.
extension OutboxBatch {
    /// Writes an event and its deliveries.
    ///
    /// - Parameter receivers: each function at most once.
    /// - Returns: the event's bytes as they are stored.
    @discardableResult
    func put(_ event: Event, for receivers: [EventReceiver], at now: Timestamp) throws -> Int {
        // Events' ids contain the version, so no later commit may get the same one.
        versions.claim(event.id.version)
        let bytes = event.encoded
        let row = StoredEvent.encode(bytes, for: receivers.map(\.function))
        try storage.put(.events, OutboxKey.event(event.id), row)
        for receiver in receivers {
            let id = DeliveryID(event: event.id, function: receiver.function)
            var delivery = Delivery(id: id, state: .pending(due: receiver.due))
            delivery.orderKey = receiver.orderKey
            delivery.taskName = receiver.taskName
            delivery.isShared = receivers.count > 1
            if let name = receiver.taskName { try storage.hold(name, for: id, at: now) }
            if let reason = receiver.deadBecause {
                delivery.state = .dead(now)
                delivery.lastError = reason
                changes.add(dead: delivery)
            } else if let queue = delivery.orderingQueue {
                if try firstPlace(in: queue, of: receiver.function) != .empty { delivery.state = .waiting }
                try queues.put(event.id, in: queue, storage)
            }
            try store(delivery)
            announce(delivery, bytes, at: now)
        }
        return row.count
    }

    /// Removes a delivery that has ended, and its event with the last of its deliveries. Its task's name becomes free
    /// later, and the next delivery of its ordering queue becomes due.
    func finish(
        _ delivery: Delivery, as outcome: DeliveryEnd.Outcome, because error: String? = nil, at now: Timestamp
    ) throws {
        let isLast = try !delivery.isShared || storage.isLast(delivery)
        try storage.deleteRows(of: delivery)
        if isLast { try storage.delete(.events, OutboxKey.event(delivery.id.event)) }
        if let name = delivery.taskName { try storage.free(name, for: delivery.id, at: now) }
        try leaveOrderingQueue(delivery, at: now)
        // A dead letter has ended before.
        if case .dead = delivery.state { return }
        changes.add(DeliveryEnd(id: delivery.id, outcome: outcome, time: now, error: error))
    }

    /// Schedules a retry of a delivery that failed.
    ///
    /// - Parameter note: records the failure.
    func postpone(
        _ delivery: Delivery, to due: Timestamp, at now: Timestamp,
        _ note: (inout Delivery) -> Void
    ) throws {
        var changed = delivery
        note(&changed)
        switch delivery.state {
        case .dead: return
        // It was moved behind another delivery during the attempt.
        case .waiting: break
        case .pending:
            changed.state = .pending(due: due)
            if let next = try headBefore(delivery) {
                // An earlier event of the queue was requeued meanwhile, and is delivered first.
                changed.state = .waiting
                try promote(next, at: now)
            }
            try storage.deleteRows(of: delivery)
        }
        try store(changed)
        try announce(changed, at: now)
    }

    /// Dead-letters a delivery. The next delivery of its ordering queue becomes due.
    func deadLetter(
        _ delivery: Delivery, at now: Timestamp, _ note: (inout Delivery) -> Void
    ) throws {
        var changed = delivery
        note(&changed)
        changed.state = .dead(now)
        try storage.deleteRows(of: delivery)
        try store(changed)
        try leaveOrderingQueue(delivery, at: now)
        changes.add(DeliveryEnd(id: delivery.id, outcome: .dead, time: now, error: changed.lastError))
    }

    /// Makes a delivery due now, as if its event had just happened and never been attempted. A delivery that is behind
    /// another in its ordering queue waits for that one.
    func requeue(
        _ delivery: Delivery, at now: Timestamp
    ) throws {
        var changed = delivery
        (changed.failedAttempts, changed.executions, changed.firstAttempt) = (0, 0, nil)
        changed.requeued = now
        switch delivery.state {
        case .waiting: break
        case .pending:
            changed.state = .pending(due: now)
            // The dispatcher's copy in memory still has the former attempts.
            changes.withdraw(delivery.id)
        case .dead:
            changed.state = .pending(due: now)
            if try !rejoin(delivery) { changed.state = .waiting }
        }
        try storage.deleteRows(of: delivery)
        try store(changed)
        // Many deliveries may be requeued at once, so their events aren't passed on.
        if changed.due != nil { changes.add(changed.id.function, due: now) }
    }

    /// Changes when a pending delivery is due.
    func reschedule(_ delivery: Delivery, to due: Timestamp) throws {
        var changed = delivery
        changed.state = .pending(due: due)
        try storage.deleteRows(of: delivery)
        try store(changed)
        // The dispatcher's copy in memory still has the former time.
        changes.withdraw(delivery.id)
        changes.add(delivery.id.function, due: due)
    }

    /// Stores a delivery's rows.
    func store(_ delivery: Delivery) throws {
        try storage.putRows(of: delivery)
        if let due = delivery.due { changes.note(delivery.id.function, due: due) }
    }

    /// Announces a delivery if it is due.
    func announce(_ delivery: Delivery, at now: Timestamp) throws {
        guard let due = delivery.due else { return }
        guard due <= now, changes.hasRoom else { return changes.add(delivery.id.function, due: due) }
        guard let event = try storage.storedEvent(delivery.id.event)?.event else {
            // The dispatcher reads it and names it.
            return changes.add(delivery.id.function, due: due)
        }
        changes.add(due: StoredDelivery(delivery: delivery, event: event))
    }

    private func announce(_ delivery: Delivery, _ event: [UInt8], at now: Timestamp) {
        guard let due = delivery.due else { return }
        guard due <= now, changes.hasRoom else { return changes.add(delivery.id.function, due: due) }
        changes.add(due: StoredDelivery(delivery: delivery, event: event))
    }
}
