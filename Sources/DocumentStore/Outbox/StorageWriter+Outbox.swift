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

extension StorageWriter {
    /// Writes an event and its deliveries.
    func put(_ event: Event, for receivers: [EventReceiver], at now: Timestamp, _ news: inout OutboxNews) throws {
        guard !receivers.isEmpty else { return }
        let bytes = event.encoded
        try put(.events, OutboxKey.event(event.id), bytes)
        for receiver in receivers {
            let id = DeliveryID(event: event.id, function: receiver.function)
            var delivery = Delivery(id: id, state: .pending(due: receiver.due))
            delivery.taskName = receiver.taskName
            delivery.siblings = receivers.map(\.function).filter { $0 != receiver.function }
            if let reason = receiver.deadBecause {
                delivery.state = .dead(now)
                delivery.lastError = reason
                try put(.deliveries, OutboxKey.dead(id), delivery.row)
                continue
            }
            if let orderKey = receiver.orderKey {
                delivery.orderKey = orderKey
                let line = OutboxKey.ordered(orderKey, of: receiver.function)
                if try first(in: line) != nil { delivery.state = .waiting }
                try put(.deliveries, line + OutboxKey.event(event.id), [])
            }
            try store(delivery)
            news.add(StoredDelivery(delivery: delivery, event: bytes), now)
        }
    }

    /// Stores a delivery that is pending or waiting.
    private func store(_ delivery: Delivery) throws {
        try put(.deliveries, OutboxKey.pending(delivery.id), delivery.row)
        if let due = delivery.due { try put(.deliveries, OutboxKey.due(due, delivery.id), []) }
    }

    /// Removes a delivery's rows but not its event: it goes, or comes back in another state.
    private func take(_ delivery: Delivery) throws {
        if case .dead = delivery.state {
            try delete(.deliveries, OutboxKey.dead(delivery.id))
        } else {
            try delete(.deliveries, OutboxKey.pending(delivery.id))
            if let due = delivery.due { try delete(.deliveries, OutboxKey.due(due, delivery.id)) }
        }
    }

    /// The delivery is over: its rows go, its event with the last of them, its name becomes free in time, and the next
    /// change of its document is due.
    func finish(_ delivery: Delivery, at now: Timestamp, _ news: inout OutboxNews) throws {
        try take(delivery)
        try leaveLine(delivery, at: now, &news)
        if let name = delivery.taskName { try freeName(name, of: delivery.id.function, at: now) }
        for sibling in delivery.siblings {
            let id = DeliveryID(event: delivery.id.event, function: sibling)
            if try get(.deliveries, OutboxKey.pending(id)) != nil { return }
            if try get(.deliveries, OutboxKey.dead(id)) != nil { return }
        }
        try delete(.events, OutboxKey.event(delivery.id.event))
    }

    /// Puts a delivery in another state; one that is dead makes way for the next change of its document.
    func change(
        _ delivery: Delivery, to state: Delivery.State, at now: Timestamp, _ news: inout OutboxNews,
        _ body: (inout Delivery) -> Void = { _ in }
    ) throws {
        var changed = delivery
        changed.state = state
        body(&changed)
        try take(delivery)
        if case .dead = state {
            try put(.deliveries, OutboxKey.dead(delivery.id), changed.row)
            try leaveLine(delivery, at: now, &news)
            return
        }
        if case .dead = delivery.state, let orderKey = delivery.orderKey {
            // It comes back before what is in line by now: that came later.
            let line = OutboxKey.ordered(orderKey, of: delivery.id.function)
            if let head = try first(in: line) { try demote(DeliveryID(event: head, function: delivery.id.function)) }
            try put(.deliveries, line + OutboxKey.event(delivery.id.event), [])
        }
        try store(changed)
        guard let event = try get(.events, OutboxKey.event(delivery.id.event)) else {
            throw DecodingFailure("the event \(delivery.id.event) is missing")
        }
        news.add(StoredDelivery(delivery: changed, event: event), now)
    }

    /// One that was first in its line waits again.
    private func demote(_ id: DeliveryID) throws {
        guard let delivery = try self.delivery(id), delivery.due != nil else { return }
        try take(delivery)
        var changed = delivery
        changed.state = .waiting
        try store(changed)
    }

    private func leaveLine(_ delivery: Delivery, at now: Timestamp, _ news: inout OutboxNews) throws {
        guard let orderKey = delivery.orderKey else { return }
        if case .dead = delivery.state { return }
        let line = OutboxKey.ordered(orderKey, of: delivery.id.function)
        try delete(.deliveries, line + OutboxKey.event(delivery.id.event))
        guard let head = try first(in: line) else { return }
        let id = DeliveryID(event: head, function: delivery.id.function)
        guard let next = try self.delivery(id), next.state == .waiting else { return }
        try change(next, to: .pending(due: now), at: now, &news)
    }

    private func first(in line: [UInt8]) throws -> EventID? {
        var first: EventID?
        try scanKeys(.deliveries, KeyRange(prefix: line), reverse: false) { key in
            first = try OutboxKey.event(at: key)
            return false
        }
        return first
    }

    // MARK: Names of tasks

    /// How long a name stays taken after its task has ended, in microseconds.
    private static var nameKept: Int64 { 86_400_000_000 }

    /// - Parameter isTrial: whether it is only asked whether the name can be taken.
    /// - Throws: `alreadyExists` where a task of the queue has the name, or had it until lately.
    func takeName(_ name: String, of queue: String, at now: Timestamp, isTrial: Bool) throws {
        let key = OutboxKey.taskName(name, of: queue)
        if let value = try get(.deliveries, key) {
            var reader = ByteReader(value)
            let expires = try reader.signed()
            guard expires <= now.microseconds else {
                throw DocumentError(
                    .alreadyExists,
                    "the queue \(queue) has, or had within a day, a task named \(name); leave the name out or use another"
                )
            }
            if !isTrial { try delete(.deliveries, OutboxKey.taskNameExpiry(expires, key)) }
        }
        if isTrial { return }
        var writer = ByteWriter()
        writer.write(signed: OutboxKey.never)
        try put(.deliveries, key, writer.bytes)
    }

    private func freeName(_ name: String, of queue: String, at now: Timestamp) throws {
        let key = OutboxKey.taskName(name, of: queue)
        let expires = now.microseconds + Self.nameKept
        var writer = ByteWriter()
        writer.write(signed: expires)
        try put(.deliveries, key, writer.bytes)
        try put(.deliveries, OutboxKey.taskNameExpiry(expires, key), [])
    }

    /// Removes names that are free again, a bounded number at a time.
    func sweepNames(at now: Timestamp) throws {
        var expired: [[UInt8]] = []
        let range = KeyRange(lower: [6], upper: OutboxKey.taskNameExpiry(now.microseconds, []))
        try scanKeys(.deliveries, range, reverse: false) { key in
            expired.append(key)
            return expired.count < 1000
        }
        for key in expired {
            try delete(.deliveries, key)
            if key.count > 9 { try delete(.deliveries, Array(key[9...])) }
        }
    }
}

extension StorageReader {
    /// - Returns: nil where there is none.
    func delivery(_ id: DeliveryID) throws -> Delivery? {
        guard let row = try get(.deliveries, OutboxKey.pending(id)) ?? get(.deliveries, OutboxKey.dead(id)) else {
            return nil
        }
        return try Delivery(id: id, row: row)
    }
}

extension OutboxNews {
    fileprivate mutating func add(_ stored: StoredDelivery, _ now: Timestamp) {
        guard let due = stored.delivery.due else { return }
        if due <= now { self.due.append(stored) } else { later.append((stored.delivery.id.function, due)) }
    }
}
