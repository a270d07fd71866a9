import StorageEngine
import DocumentModel

/// A row of the outbox that doesn't fit the other rows, and why.
struct OutboxFinding {
    enum Repair {
        case put(StorageTable, [UInt8], [UInt8])
        case delete(StorageTable, [UInt8])
    }

    var problem: String
    /// The repairs that make the row fit again without losing an event for a function; empty if they can't be
    /// determined.
    var repairs: [Repair] = []
    /// Deliveries that must not be leased during the repair.
    var holding: [DeliveryID] = []
}

/// Compares each row of the outbox with the rows that it must fit. Rows about deliveries, such as due times, are
/// derived from the deliveries, and deliveries from their events.
struct OutboxAudit {
    let storage: any StorageReader
    let now: Timestamp

    /// The problems of a row of the deliveries table.
    func findings(_ key: [UInt8], _ row: [UInt8]) throws -> [OutboxFinding] {
        switch key.first {
        case 1, 3: try ofDelivery(key, row)
        case 2: try ofDue(key)
        case 4: try ofPlace(key)
        case 5: try ofName(key, row)
        case 6: try ofExpiry(key)
        case 7: []
        default: [OutboxFinding(problem: "a row among the deliveries has an unknown kind")]
        }
    }

    /// The problems of an event.
    func findings(ofEvent key: [UInt8], _ row: [UInt8]) throws -> [OutboxFinding] {
        let functions: [String]
        do {
            guard key.count == 12 else { throw DecodingFailure("its key is of another length") }
            let stored = try StoredEvent.decode(row)
            guard OutboxKey.event(try Event(decoding: stored.event).id) == key else {
                throw DecodingFailure("its name is another")
            }
            functions = stored.functions
        } catch let error as DecodingFailure {
            // Its deliveries are reported and removed too, one by one.
            return [
                OutboxFinding(problem: "an event can't be read: \(error.reason)", repairs: [.delete(.events, key)])
            ]
        }
        let id = try OutboxKey.event(at: key)
        for function in functions where try storage.hasDelivery(DeliveryID(event: id, function: function)) {
            return []
        }
        return [OutboxFinding(problem: "the event \(id) has no delivery", repairs: [.delete(.events, key)])]
    }

    // MARK: Deliveries

    private func ofDelivery(_ key: [UInt8], _ row: [UInt8]) throws -> [OutboxFinding] {
        guard let id = try? OutboxKey.delivery(key) else {
            return [
                OutboxFinding(
                    problem: "a delivery's key names no function or no event", repairs: [.delete(.deliveries, key)])
            ]
        }
        let name = "the delivery of \(id.event) to \(id.function)"
        let isDead = key.first == 3
        let delivery: Delivery
        do {
            delivery = try Delivery(id: id, row: row)
            if case .dead = delivery.state, !isDead { throw DecodingFailure("it is dead and not among the dead") }
            if delivery.state == .waiting && isDead || delivery.due != nil && isDead {
                throw DecodingFailure("it is among the dead and not dead")
            }
        } catch let error as DecodingFailure {
            return [
                OutboxFinding(
                    problem: "\(name) can't be read: \(error.reason)", repairs: try made(anew: id, isDead),
                    holding: [id])
            ]
        }
        guard let event = try readableEvent(id.event)?.event else {
            var repairs: [OutboxFinding.Repair] = [.delete(.deliveries, key)]
            if let due = delivery.due { repairs.append(.delete(.deliveries, OutboxKey.due(due, id))) }
            return [OutboxFinding(problem: "\(name) has no event that can be read", repairs: repairs, holding: [id])]
        }
        var findings: [OutboxFinding] = []
        func need(_ needed: [UInt8], _ problem: String) throws {
            guard try storage.get(.deliveries, needed) == nil else { return }
            findings.append(OutboxFinding(problem: "\(name) \(problem)", repairs: [.put(.deliveries, needed, [])]))
        }
        if let due = delivery.due { try need(OutboxKey.due(due, id), "would never be tried") }
        if !isDead, let queue = delivery.orderingQueue {
            try need(queue + OutboxKey.event(id.event), "is not in the ordering queue of its document")
        }
        if delivery.state == .waiting, delivery.orderingQueue == nil {
            var due = delivery
            due.state = .pending(due: firstDue(of: event))
            findings.append(OutboxFinding(problem: "\(name) waits for nothing", repairs: Self.stored(due)))
        }
        if let taskName = delivery.taskName {
            let nameKey = OutboxKey.taskName(taskName, of: id.function)
            let holder = try storage.get(.deliveries, nameKey).flatMap { try? TaskName($0) }
            if holder != TaskName(event: id.event) {
                findings.append(
                    OutboxFinding(
                        problem: "\(name) is a task whose name \(taskName) is not taken",
                        repairs: [.put(.deliveries, nameKey, TaskName(event: id.event).row)]))
            }
        }
        return findings
    }

    /// Recreates a delivery of which at most the event is known, and its place in an ordering queue if it has one: with
    /// no failed attempts.
    private func made(anew id: DeliveryID, _ isDead: Bool) throws -> [OutboxFinding.Repair] {
        let key = isDead ? OutboxKey.dead(id) : OutboxKey.pending(id)
        guard let stored = try readableEvent(id.event), stored.functions.contains(id.function) else {
            return [.delete(.deliveries, key)]
        }
        var delivery = Delivery(id: id, state: isDead ? .dead(now) : .pending(due: firstDue(of: stored.event)))
        delivery.isShared = stored.functions.count > 1
        delivery.lastError = "its earlier attempts are unknown: its record was damaged"
        if case .task(let task) = stored.event.content { delivery.taskName = task.name }
        if !isDead {
            delivery.orderKey = try orderKey(of: id)
            if let queue = delivery.orderingQueue, try !isNext(id, in: queue) { delivery.state = .waiting }
        }
        return Self.stored(delivery)
    }

    /// When the first attempt at an event is due: a task has its own time.
    private func firstDue(of event: Event) -> Timestamp {
        guard case .task(let task) = event.content, let time = task.scheduleTime else { return now }
        return max(time, now)
    }

    /// The order key of the place that a delivery has in an ordering queue; nil if it has none.
    private func orderKey(of id: DeliveryID) throws -> [UInt8]? {
        let event = OutboxKey.event(id.event)
        var orderKey: [UInt8]?
        try storage.scanKeys(.deliveries, OutboxKey.places(of: id.function), reverse: false) { key in
            if key.suffix(event.count) == event[...] { orderKey = OutboxKey.orderKey(key, of: id.function) }
            return orderKey == nil
        }
        return orderKey
    }

    /// Whether a delivery is the first of an ordering queue in which no other one is pending.
    private func isNext(_ id: DeliveryID, in queue: [UInt8]) throws -> Bool {
        guard try storage.first(in: queue) == id.event else { return false }
        var isNext = true
        try storage.scanKeys(.deliveries, KeyRange(prefix: queue), reverse: false) { key in
            guard let event = try? OutboxKey.event(at: key) else { return true }
            let other = try storage.readableDelivery(DeliveryID(event: event, function: id.function))
            if other?.due != nil { isNext = false }
            return isNext
        }
        return isNext
    }

    private func readableEvent(_ id: EventID) throws -> (functions: [String], event: Event)? {
        guard let stored = try storage.storedEvent(id), let event = try? Event(decoding: stored.event) else {
            return nil
        }
        return (stored.functions, event)
    }

    private static func stored(_ delivery: Delivery) -> [OutboxFinding.Repair] {
        switch delivery.state {
        case .dead: [.put(.deliveries, OutboxKey.dead(delivery.id), delivery.row)]
        case .waiting: [.put(.deliveries, OutboxKey.pending(delivery.id), delivery.row)]
        case .pending(let due):
            [
                .put(.deliveries, OutboxKey.pending(delivery.id), delivery.row),
                .put(.deliveries, OutboxKey.due(due, delivery.id), []),
            ]
        }
    }
}

// MARK: Rows derived from deliveries

extension OutboxAudit {
    private func ofDue(_ key: [UInt8]) throws -> [OutboxFinding] {
        let stray = OutboxFinding(
            problem: "a due time belongs to no delivery", repairs: [.delete(.deliveries, key)])
        guard let due = try? OutboxKey.dueTime(key), let event = try? OutboxKey.event(at: key),
            let function = OutboxKey.firstName(key)
        else { return [stray] }
        let id = DeliveryID(event: event, function: function)
        guard let row = try storage.get(.deliveries, OutboxKey.pending(id)) else { return try ofMissing(id, stray) }
        // A delivery that can't be read is reported itself, and recreated.
        guard let delivery = try? Delivery(id: id, row: row) else { return [] }
        return delivery.due == due && OutboxKey.due(due, id) == key ? [] : [stray]
    }

    /// The problem of a row of a delivery that isn't pending or waiting. If its event is to be delivered to the function
    /// and it isn't among the dead, it was lost: a delivery that ends takes its other rows with it.
    ///
    /// - Parameter stray: the finding for a row that belongs to no delivery.
    private func ofMissing(_ id: DeliveryID, _ stray: OutboxFinding) throws -> [OutboxFinding] {
        guard try storage.get(.deliveries, OutboxKey.dead(id)) == nil,
            try readableEvent(id.event)?.functions.contains(id.function) == true
        else { return [stray] }
        // What doesn't fit the new row is reported in the next pass.
        return [
            OutboxFinding(
                problem: "the delivery of \(id.event) to \(id.function) is missing",
                repairs: try made(anew: id, false), holding: [id])
        ]
    }

    private func ofPlace(_ key: [UInt8]) throws -> [OutboxFinding] {
        let stray = OutboxFinding(
            problem: "an ordering queue has a place of no delivery", repairs: [.delete(.deliveries, key)])
        guard let event = try? OutboxKey.event(at: key), let function = OutboxKey.firstName(key) else { return [stray] }
        let id = DeliveryID(event: event, function: function)
        guard let row = try storage.get(.deliveries, OutboxKey.pending(id)) else { return try ofMissing(id, stray) }
        guard let delivery = try? Delivery(id: id, row: row) else { return [] }
        guard let queue = delivery.orderingQueue, queue + OutboxKey.event(event) == key else { return [stray] }
        return try storage.first(in: queue) == event ? try ofWhole(queue, of: function) : []
    }

    /// Checks that exactly one delivery in an ordering queue is pending.
    private func ofWhole(_ queue: [UInt8], of function: String) throws -> [OutboxFinding] {
        var (first, due) = (Delivery?.none, [Delivery]())
        try storage.scanKeys(.deliveries, KeyRange(prefix: queue), reverse: false) { key in
            // A place that can't be read is reported itself.
            guard let event = try? OutboxKey.event(at: key),
                let delivery = try storage.readableDelivery(DeliveryID(event: event, function: function))
            else { return true }
            first = first ?? delivery
            if delivery.due != nil { due.append(delivery) }
            return true
        }
        let name =
            "in the ordering queue of \(function) that begins with \(first.map { "\($0.id.event)" } ?? "no delivery")"
        if due.isEmpty, var head = first {
            head.state = .pending(due: now)
            return [
                OutboxFinding(problem: "no delivery is pending \(name)", repairs: Self.stored(head), holding: [head.id])
            ]
        }
        guard due.count > 1 else { return [] }
        let repairs = due.dropFirst().flatMap { delivery -> [OutboxFinding.Repair] in
            var waiting = delivery
            waiting.state = .waiting
            return [.delete(.deliveries, OutboxKey.due(delivery.due ?? now, delivery.id))] + Self.stored(waiting)
        }
        return [
            OutboxFinding(
                problem: "\(due.count) deliveries are pending at once \(name)", repairs: repairs,
                holding: due.dropFirst().map(\.id))
        ]
    }

    private func ofName(_ key: [UInt8], _ row: [UInt8]) throws -> [OutboxFinding] {
        guard let queue = OutboxKey.firstName(key), let name = OutboxKey.secondName(key),
            let holder = try? TaskName(row)
        else {
            return [OutboxFinding(problem: "the name of a task can't be read", repairs: [.delete(.deliveries, key)])]
        }
        guard let expires = holder.expires else {
            let id = DeliveryID(event: holder.event, function: queue)
            if let found = try storage.get(.deliveries, OutboxKey.pending(id))
                ?? storage.get(.deliveries, OutboxKey.dead(id))
            {
                guard let delivery = try? Delivery(id: id, row: found), delivery.taskName != name else { return [] }
            }
            let free = now.microseconds + TaskName.kept
            return [
                OutboxFinding(
                    problem: "the name \(name) in the queue \(queue) is taken by no task and would never be free",
                    repairs: [
                        .put(.deliveries, key, TaskName(event: holder.event, expires: free).row),
                        .put(.deliveries, OutboxKey.taskNameExpiries.key(free, of: key), []),
                    ])
            ]
        }
        let expiry = OutboxKey.taskNameExpiries.key(expires, of: key)
        guard try storage.get(.deliveries, expiry) == nil else { return [] }
        return [
            OutboxFinding(
                problem: "the name \(name) in the queue \(queue) would never be free",
                repairs: [.put(.deliveries, expiry, [])])
        ]
    }

    private func ofExpiry(_ key: [UInt8]) throws -> [OutboxFinding] {
        let stray = OutboxFinding(
            problem: "an expiry of task names belongs to no name", repairs: [.delete(.deliveries, key)])
        guard let nameKey = ExpiryEntries.parts(of: key)?.row, nameKey.first == 5,
            let row = try storage.get(.deliveries, nameKey)
        else { return [stray] }
        guard let name = try? TaskName(row) else { return [] }
        return name.expires.map { OutboxKey.taskNameExpiries.key($0, of: nameKey) } == key ? [] : [stray]
    }
}
