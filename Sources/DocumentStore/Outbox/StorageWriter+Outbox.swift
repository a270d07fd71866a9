import StorageEngine
import DocumentModel

/// One function that an event is written for.
struct EventReceiver: Hashable {
    var function: String
    var due: Timestamp
    /// The document whose changes are told in order.
    var orderKey: [UInt8]?
    var taskName: String?
    /// Why it is a dead letter from the start.
    var deadBecause: String?
}

// What these functions read they read before they write, or they do without it where it is damaged: one row that a disk
// has changed must not fail the batch of everyone.
extension StorageWriter {
    /// Writes an event and its deliveries.
    ///
    /// - Parameter receivers: each function once.
    /// - Returns: the event's bytes as they are stored.
    @discardableResult
    func put(
        _ event: Event, for receivers: [EventReceiver], at now: Timestamp, _ news: inout OutboxNews
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
                news.add(dead: delivery)
            } else if let line = delivery.line {
                if try first(in: line) != nil { delivery.state = .waiting }
                try put(.deliveries, line + OutboxKey.event(event.id), [])
            }
            try store(delivery)
            tell(delivery, bytes, at: now, &news)
        }
        return row.count
    }

    /// The delivery is over: its rows go, its event with the last of them, its name becomes free in time, and the next
    /// change of its document is due.
    func finish(
        _ delivery: Delivery, as outcome: DeliveryEnd.Outcome, because error: String? = nil, at now: Timestamp,
        _ news: inout OutboxNews
    ) throws {
        let isLast = try !delivery.isShared || isLast(delivery)
        try take(delivery)
        if isLast { try delete(.events, OutboxKey.event(delivery.id.event)) }
        if let name = delivery.taskName { try free(name, for: delivery.id, at: now) }
        try leaveLine(delivery, at: now, &news)
        news.add(DeliveryEnd(id: delivery.id, outcome: outcome, time: now, error: error))
    }

    /// One that failed is tried again.
    ///
    /// - Parameter note: what becomes known of it.
    func postpone(
        _ delivery: Delivery, to due: Timestamp, at now: Timestamp, _ news: inout OutboxNews,
        _ note: (inout Delivery) -> Void
    ) throws {
        var changed = delivery
        note(&changed)
        switch delivery.state {
        case .dead: return
        // Taken from those that are due while it was worked on.
        case .waiting: break
        case .pending:
            changed.state = .pending(due: due)
            if let next = try headBefore(delivery) {
                // An earlier change of the document was brought back meanwhile, and comes first.
                changed.state = .waiting
                try promote(next, at: now, &news)
            }
            try take(delivery)
        }
        try store(changed)
        try tell(changed, at: now, &news)
    }

    /// A delivery becomes a dead letter, which makes way for the next change of its document.
    func bury(
        _ delivery: Delivery, at now: Timestamp, _ news: inout OutboxNews, _ note: (inout Delivery) -> Void
    ) throws {
        var changed = delivery
        note(&changed)
        changed.state = .dead(now)
        try take(delivery)
        try store(changed)
        try leaveLine(delivery, at: now, &news)
        news.add(DeliveryEnd(id: delivery.id, outcome: .dead, time: now, error: changed.lastError))
    }

    /// A delivery is due now, as if its event had just happened and had never been tried; one that is behind an earlier
    /// change of its document waits for that.
    ///
    /// - Parameter hold: asked for the delivery that would have to wait instead; answers whether nobody works on it.
    func revive(
        _ delivery: Delivery, at now: Timestamp, _ news: inout OutboxNews, hold: (DeliveryID) -> Bool
    ) throws {
        var changed = delivery
        (changed.tries, changed.executions, changed.firstTry) = (0, 0, nil)
        changed.revived = now
        switch delivery.state {
        case .waiting: break
        case .pending:
            changed.state = .pending(due: now)
            // What was read of it into memory tells of its former tries.
            news.withdraw(delivery.id)
        case .dead:
            changed.state = .pending(due: now)
            if try !cutIn(delivery, hold, &news) { changed.state = .waiting }
        }
        try take(delivery)
        try store(changed)
        // Many may be revived at once, so their events aren't brought.
        if changed.due != nil { news.add(changed.id.function, due: now) }
    }

    // MARK: Rows

    /// Stores a delivery under what its state demands.
    func store(_ delivery: Delivery) throws {
        switch delivery.state {
        case .dead: try put(.deliveries, OutboxKey.dead(delivery.id), delivery.row)
        case .waiting: try put(.deliveries, OutboxKey.pending(delivery.id), delivery.row)
        case .pending(let due):
            try put(.deliveries, OutboxKey.pending(delivery.id), delivery.row)
            try put(.deliveries, OutboxKey.due(due, delivery.id), [])
        }
    }

    /// Removes a delivery's rows but not its event: it goes, or comes back in another state.
    func take(_ delivery: Delivery) throws {
        switch delivery.state {
        case .dead: try delete(.deliveries, OutboxKey.dead(delivery.id))
        case .waiting: try delete(.deliveries, OutboxKey.pending(delivery.id))
        case .pending(let due):
            try delete(.deliveries, OutboxKey.pending(delivery.id))
            try delete(.deliveries, OutboxKey.due(due, delivery.id))
        }
    }

    /// Whether no other function is told of a delivery's event any more.
    private func isLast(_ delivery: Delivery) throws -> Bool {
        // What can't be read stays, for the check to name.
        guard let functions = try storedEvent(delivery.id.event)?.functions else { return false }
        for function in functions where function != delivery.id.function {
            if try hasDelivery(DeliveryID(event: delivery.id.event, function: function)) { return false }
        }
        return true
    }

    /// Tells a delivery where it is due.
    func tell(_ delivery: Delivery, at now: Timestamp, _ news: inout OutboxNews) throws {
        guard let due = delivery.due else { return }
        guard due <= now, news.hasRoom else { return news.add(delivery.id.function, due: due) }
        guard let event = try storedEvent(delivery.id.event)?.event else { return }
        news.add(due: StoredDelivery(delivery: delivery, event: event))
    }

    private func tell(_ delivery: Delivery, _ event: [UInt8], at now: Timestamp, _ news: inout OutboxNews) {
        guard let due = delivery.due else { return }
        guard due <= now, news.hasRoom else { return news.add(delivery.id.function, due: due) }
        news.add(due: StoredDelivery(delivery: delivery, event: event))
    }
}

extension StorageReader {
    /// - Returns: nil where there is none.
    /// - Throws: `DecodingFailure` where it isn't as it was written.
    func delivery(_ id: DeliveryID) throws -> Delivery? {
        guard let row = try get(.deliveries, OutboxKey.pending(id)) ?? get(.deliveries, OutboxKey.dead(id)) else {
            return nil
        }
        return try Delivery(id: id, row: row)
    }

    /// - Returns: nil too where it isn't as it was written.
    func readableDelivery(_ id: DeliveryID) throws -> Delivery? {
        do { return try delivery(id) } catch is DecodingFailure { return nil }
    }

    func hasDelivery(_ id: DeliveryID) throws -> Bool {
        try get(.deliveries, OutboxKey.pending(id)) != nil || get(.deliveries, OutboxKey.dead(id)) != nil
    }

    /// - Returns: nil where there is none, or it isn't as it was written.
    func storedEvent(_ id: EventID) throws -> (functions: [String], event: [UInt8])? {
        guard let row = try get(.events, OutboxKey.event(id)) else { return nil }
        return try? StoredEvent.decode(row)
    }
}
