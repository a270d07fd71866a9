import StorageEngine
import DocumentModel

/// What is wrong with a row of the outbox beside what the other rows say.
struct OutboxFinding {
    enum Mend {
        case put(StorageTable, [UInt8], [UInt8])
        case delete(StorageTable, [UInt8])
    }

    var problem: String
    /// What makes it fit again without a function being told less than it would have been; none where nobody can know.
    var mends: [Mend] = []
    /// Deliveries that nobody may be working on meanwhile.
    var holding: [DeliveryID] = []
}

/// Compares each row of the outbox with those that it must fit. What tells of deliveries, such as when they are due,
/// follows from the deliveries themselves, and these from their events.
struct OutboxAudit {
    let storage: any StorageReader
    let now: Timestamp

    /// What is wrong with a row of the table of deliveries.
    func findings(_ key: [UInt8], _ row: [UInt8]) throws -> [OutboxFinding] {
        switch key.first {
        case 1, 3: try ofDelivery(key, row)
        case 2: try ofDue(key)
        case 4: try ofLine(key)
        case 5: try ofName(key, row)
        case 6: try ofExpiry(key)
        case 7: []
        default: [OutboxFinding(problem: "a row among the deliveries is of no kind that there is")]
        }
    }

    /// What is wrong with an event.
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
            // Without it its deliveries go too, which are named one by one.
            return [
                OutboxFinding(problem: "an event can't be read: \(error.reason)", mends: [.delete(.events, key)])
            ]
        }
        let id = try OutboxKey.event(at: key)
        for function in functions where try storage.hasDelivery(DeliveryID(event: id, function: function)) {
            return []
        }
        return [OutboxFinding(problem: "nobody is to be told of the event \(id)", mends: [.delete(.events, key)])]
    }

    // MARK: Deliveries

    private func ofDelivery(_ key: [UInt8], _ row: [UInt8]) throws -> [OutboxFinding] {
        guard let id = try? OutboxKey.delivery(key) else {
            return [
                OutboxFinding(
                    problem: "a delivery's key names no function or no event", mends: [.delete(.deliveries, key)])
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
                    problem: "\(name) can't be read: \(error.reason)", mends: try made(anew: id, isDead), holding: [id])
            ]
        }
        guard try readableEvent(id.event) != nil else {
            var mends: [OutboxFinding.Mend] = [.delete(.deliveries, key)]
            if let due = delivery.due { mends.append(.delete(.deliveries, OutboxKey.due(due, id))) }
            return [OutboxFinding(problem: "\(name) has no event that can be read", mends: mends, holding: [id])]
        }
        var findings: [OutboxFinding] = []
        func need(_ needed: [UInt8], _ problem: String) throws {
            guard try storage.get(.deliveries, needed) == nil else { return }
            findings.append(OutboxFinding(problem: "\(name) \(problem)", mends: [.put(.deliveries, needed, [])]))
        }
        if let due = delivery.due { try need(OutboxKey.due(due, id), "would never be tried") }
        if !isDead, let line = delivery.line {
            try need(line + OutboxKey.event(id.event), "is not in line with the changes of its document")
        }
        if delivery.state == .waiting, delivery.line == nil {
            var due = delivery
            due.state = .pending(due: now)
            findings.append(OutboxFinding(problem: "\(name) waits for nothing", mends: Self.stored(due)))
        }
        if let taskName = delivery.taskName {
            let nameKey = OutboxKey.taskName(taskName, of: id.function)
            let holder = try storage.get(.deliveries, nameKey).flatMap { try? TaskName($0) }
            if holder != TaskName(event: id.event) {
                findings.append(
                    OutboxFinding(
                        problem: "\(name) is a task whose name \(taskName) is not taken",
                        mends: [.put(.deliveries, nameKey, TaskName(event: id.event).row)]))
            }
        }
        return findings
    }

    /// A delivery of which nothing is known but its event: it is tried from the beginning, without an order.
    private func made(anew id: DeliveryID, _ isDead: Bool) throws -> [OutboxFinding.Mend] {
        let key = isDead ? OutboxKey.dead(id) : OutboxKey.pending(id)
        guard let stored = try readableEvent(id.event), stored.functions.contains(id.function) else {
            return [.delete(.deliveries, key)]
        }
        var delivery = Delivery(id: id, state: isDead ? .dead(now) : .pending(due: now))
        delivery.isShared = stored.functions.count > 1
        delivery.lastError = "what was known of its tries is lost: its record was damaged"
        if case .task(let task) = stored.event.content { delivery.taskName = task.name }
        return Self.stored(delivery)
    }

    private func readableEvent(_ id: EventID) throws -> (functions: [String], event: Event)? {
        guard let stored = try storage.storedEvent(id), let event = try? Event(decoding: stored.event) else {
            return nil
        }
        return (stored.functions, event)
    }

    private static func stored(_ delivery: Delivery) -> [OutboxFinding.Mend] {
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

// MARK: What follows from deliveries

extension OutboxAudit {
    private func ofDue(_ key: [UInt8]) throws -> [OutboxFinding] {
        let stray = OutboxFinding(
            problem: "there is a time at which no delivery is due", mends: [.delete(.deliveries, key)])
        guard let due = try? OutboxKey.dueTime(key), let event = try? OutboxKey.event(at: key),
            let function = OutboxKey.firstName(key)
        else { return [stray] }
        let id = DeliveryID(event: event, function: function)
        guard let row = try storage.get(.deliveries, OutboxKey.pending(id)) else { return [stray] }
        // One that can't be read is named itself, and made anew.
        guard let delivery = try? Delivery(id: id, row: row) else { return [] }
        return delivery.due == due && OutboxKey.due(due, id) == key ? [] : [stray]
    }

    private func ofLine(_ key: [UInt8]) throws -> [OutboxFinding] {
        let stray = OutboxFinding(
            problem: "there is a place in line that no delivery has", mends: [.delete(.deliveries, key)])
        guard let event = try? OutboxKey.event(at: key), let function = OutboxKey.firstName(key) else { return [stray] }
        let id = DeliveryID(event: event, function: function)
        guard let row = try storage.get(.deliveries, OutboxKey.pending(id)) else { return [stray] }
        guard let delivery = try? Delivery(id: id, row: row) else { return [] }
        guard let line = delivery.line, line + OutboxKey.event(event) == key else { return [stray] }
        return try storage.first(in: line) == event ? try ofWhole(line, of: function) : []
    }

    /// Of all that stand in a line it must be the turn of one.
    private func ofWhole(_ line: [UInt8], of function: String) throws -> [OutboxFinding] {
        var (first, due) = (Delivery?.none, [Delivery]())
        try storage.scanKeys(.deliveries, KeyRange(prefix: line), reverse: false) { key in
            let id = DeliveryID(event: try OutboxKey.event(at: key), function: function)
            guard let delivery = try storage.readableDelivery(id) else { return true }
            first = first ?? delivery
            if delivery.due != nil { due.append(delivery) }
            return true
        }
        let name = "in the line of \(function) that begins with \(first.map { "\($0.id.event)" } ?? "nobody")"
        if due.isEmpty, var head = first {
            head.state = .pending(due: now)
            return [OutboxFinding(problem: "it is nobody's turn \(name)", mends: Self.stored(head), holding: [head.id])]
        }
        guard due.count > 1 else { return [] }
        let mends = due.dropFirst().flatMap { delivery -> [OutboxFinding.Mend] in
            var waiting = delivery
            waiting.state = .waiting
            return [.delete(.deliveries, OutboxKey.due(delivery.due ?? now, delivery.id))] + Self.stored(waiting)
        }
        return [
            OutboxFinding(
                problem: "it is the turn of \(due.count) at once \(name)", mends: mends,
                holding: due.dropFirst().map(\.id))
        ]
    }

    private func ofName(_ key: [UInt8], _ row: [UInt8]) throws -> [OutboxFinding] {
        guard let queue = OutboxKey.firstName(key), let name = OutboxKey.secondName(key),
            let holder = try? TaskName(row)
        else {
            return [OutboxFinding(problem: "the name of a task can't be read", mends: [.delete(.deliveries, key)])]
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
                    mends: [
                        .put(.deliveries, key, TaskName(event: holder.event, expires: free).row),
                        .put(.deliveries, OutboxKey.taskNameExpiry(free, key), []),
                    ])
            ]
        }
        let expiry = OutboxKey.taskNameExpiry(expires, key)
        guard try storage.get(.deliveries, expiry) == nil else { return [] }
        return [
            OutboxFinding(
                problem: "the name \(name) in the queue \(queue) would never be free",
                mends: [.put(.deliveries, expiry, [])])
        ]
    }

    private func ofExpiry(_ key: [UInt8]) throws -> [OutboxFinding] {
        let stray = OutboxFinding(
            problem: "there is a time at which no task's name becomes free", mends: [.delete(.deliveries, key)])
        guard key.count > 9 else { return [stray] }
        let nameKey = Array(key[9...])
        guard nameKey.first == 5, let row = try storage.get(.deliveries, nameKey) else { return [stray] }
        guard let name = try? TaskName(row) else { return [] }
        return name.expires.map { OutboxKey.taskNameExpiry($0, nameKey) } == key ? [] : [stray]
    }
}
