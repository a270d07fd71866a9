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
extension StorageWriter {
    /// Writes an event and its deliveries.
    ///
    /// - Parameter receivers: each function at most once.
    /// - Returns: the event's bytes as they are stored.
    @discardableResult
    func put(
        _ event: Event, for receivers: [EventReceiver], at now: Timestamp, _ changes: inout OutboxChanges
    ) throws -> Int {
        let bytes = event.encoded
        let row = StoredEvent.encode(bytes, for: receivers.map(\.function))
        try put(.events, OutboxKey.event(event.id), row)
        for receiver in receivers {
            let id = DeliveryID(event: event.id, function: receiver.function)
            var delivery = Delivery(id: id, state: .pending(due: receiver.due))
            delivery.orderKey = receiver.orderKey
            delivery.taskName = receiver.taskName
            delivery.isShared = receivers.count > 1
            if let name = receiver.taskName { try hold(name, for: id, at: now) }
            if let reason = receiver.deadBecause {
                delivery.state = .dead(now)
                delivery.lastError = reason
                changes.add(dead: delivery)
            } else if let queue = delivery.orderingQueue {
                if try first(in: queue) != nil { delivery.state = .waiting }
                try put(.deliveries, queue + OutboxKey.event(event.id), [])
            }
            try store(delivery, &changes)
            announce(delivery, bytes, at: now, &changes)
        }
        return row.count
    }

    /// Removes a delivery that has ended, and its event with the last of its deliveries. Its task's name becomes free
    /// later, and the next delivery of its ordering queue becomes due.
    func finish(
        _ delivery: Delivery, as outcome: DeliveryEnd.Outcome, because error: String? = nil, at now: Timestamp,
        _ changes: inout OutboxChanges
    ) throws {
        let isLast = try !delivery.isShared || isLast(delivery)
        try take(delivery)
        if isLast { try delete(.events, OutboxKey.event(delivery.id.event)) }
        if let name = delivery.taskName { try free(name, for: delivery.id, at: now) }
        try leaveOrderingQueue(delivery, at: now, &changes)
        changes.add(DeliveryEnd(id: delivery.id, outcome: outcome, time: now, error: error))
    }

    /// Schedules a retry of a delivery that failed.
    ///
    /// - Parameter note: records the failure.
    func postpone(
        _ delivery: Delivery, to due: Timestamp, at now: Timestamp, _ changes: inout OutboxChanges,
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
                try promote(next, at: now, &changes)
            }
            try take(delivery)
        }
        try store(changed, &changes)
        try announce(changed, at: now, &changes)
    }

    /// Dead-letters a delivery. The next delivery of its ordering queue becomes due.
    func deadLetter(
        _ delivery: Delivery, at now: Timestamp, _ changes: inout OutboxChanges, _ note: (inout Delivery) -> Void
    ) throws {
        var changed = delivery
        note(&changed)
        changed.state = .dead(now)
        try take(delivery)
        try store(changed, &changes)
        try leaveOrderingQueue(delivery, at: now, &changes)
        changes.add(DeliveryEnd(id: delivery.id, outcome: .dead, time: now, error: changed.lastError))
    }

    /// Makes a delivery due now, as if its event had just happened and never been attempted. A delivery that is behind
    /// another in its ordering queue waits for that one.
    ///
    /// - Parameter hold: leases the delivery that would have to wait instead; returns false if an attempt holds its
    ///   lease.
    func requeue(
        _ delivery: Delivery, at now: Timestamp, _ changes: inout OutboxChanges, hold: (DeliveryID) -> Bool
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
            if try !rejoin(delivery, hold, &changes) { changed.state = .waiting }
        }
        try take(delivery)
        try store(changed, &changes)
        // Many deliveries may be requeued at once, so their events aren't passed on.
        if changed.due != nil { changes.add(changed.id.function, due: now) }
    }

    // MARK: Rows

    /// Stores a delivery's rows.
    func store(_ delivery: Delivery, _ changes: inout OutboxChanges) throws {
        switch delivery.state {
        case .dead: try put(.deliveries, OutboxKey.dead(delivery.id), delivery.row)
        case .waiting: try put(.deliveries, OutboxKey.pending(delivery.id), delivery.row)
        case .pending(let due):
            try put(.deliveries, OutboxKey.pending(delivery.id), delivery.row)
            try put(.deliveries, OutboxKey.due(due, delivery.id), [])
            changes.note(delivery.id.function, due: due)
        }
    }

    /// Removes a delivery's rows, but not its event.
    func take(_ delivery: Delivery) throws {
        switch delivery.state {
        case .dead: try delete(.deliveries, OutboxKey.dead(delivery.id))
        case .waiting: try delete(.deliveries, OutboxKey.pending(delivery.id))
        case .pending(let due):
            try delete(.deliveries, OutboxKey.pending(delivery.id))
            try delete(.deliveries, OutboxKey.due(due, delivery.id))
        }
    }

    /// Whether a delivery is the last one of its event.
    private func isLast(_ delivery: Delivery) throws -> Bool {
        // An event that can't be read stays in place for the check to report.
        guard let functions = try storedEvent(delivery.id.event)?.functions else { return false }
        for function in functions where function != delivery.id.function {
            if try hasDelivery(DeliveryID(event: delivery.id.event, function: function)) { return false }
        }
        return true
    }

    /// Announces a delivery if it is due.
    func announce(_ delivery: Delivery, at now: Timestamp, _ changes: inout OutboxChanges) throws {
        guard let due = delivery.due else { return }
        guard due <= now, changes.hasRoom else { return changes.add(delivery.id.function, due: due) }
        guard let event = try storedEvent(delivery.id.event)?.event else { return }
        changes.add(due: StoredDelivery(delivery: delivery, event: event))
    }

    private func announce(_ delivery: Delivery, _ event: [UInt8], at now: Timestamp, _ changes: inout OutboxChanges) {
        guard let due = delivery.due else { return }
        guard due <= now, changes.hasRoom else { return changes.add(delivery.id.function, due: due) }
        changes.add(due: StoredDelivery(delivery: delivery, event: event))
    }
}

extension StorageReader {
    /// - Returns: nil if there is none.
    /// - Throws: `DecodingFailure` if it can't be read.
    func delivery(_ id: DeliveryID) throws -> Delivery? {
        guard let row = try get(.deliveries, OutboxKey.pending(id)) ?? get(.deliveries, OutboxKey.dead(id)) else {
            return nil
        }
        return try Delivery(id: id, row: row)
    }

    /// - Returns: nil if there is none, or it can't be read.
    func readableDelivery(_ id: DeliveryID) throws -> Delivery? {
        do { return try delivery(id) } catch is DecodingFailure { return nil }
    }

    func hasDelivery(_ id: DeliveryID) throws -> Bool {
        try get(.deliveries, OutboxKey.pending(id)) != nil || get(.deliveries, OutboxKey.dead(id)) != nil
    }

    /// - Returns: nil if there is none, or it can't be read.
    func storedEvent(_ id: EventID) throws -> (functions: [String], event: [UInt8])? {
        guard let row = try get(.events, OutboxKey.event(id)) else { return nil }
        return try? StoredEvent.decode(row)
    }
}
