import DocumentModel
import StorageEngine

/// The open batch's changes to the outbox.
///
/// Used on the writer's thread.
final class OutboxBatch {
    let storage: any StorageWriter
    let versions: VersionCounter
    let queues: OrderingQueues
    let damage: DamageReports
    private let leases: DeliveryLeases
    var changes = OutboxChanges()
    /// Leases that end once the batch is durable. Until then, further commits and outcomes under them are refused.
    private var ended: Set<DeliveryLease> = []
    /// Deliveries that can't be leased until the batch is durable, because an operator changes them.
    private var held: [DeliveryID: DeliveryLease] = [:]

    init(
        _ storage: any StorageWriter, versions: VersionCounter, queues: OrderingQueues, leases: DeliveryLeases,
        damage: DamageReports
    ) {
        self.storage = storage
        self.versions = versions
        self.queues = queues
        self.leases = leases
        self.damage = damage
    }

    // MARK: Jobs

    /// Does a job.
    ///
    /// - Returns: the value for the job's completion.
    /// - Throws: `DecodingFailure` or ``UnreadDelivery`` before anything is written, or another error if the batch must
    ///   not be kept.
    func perform(_ work: OutboxJob.Work, at now: Timestamp) throws -> Int {
        switch work {
        case .end(let lease, let outcome, let firstAttempt):
            guard leases.holds(lease), !ended.contains(lease) else { return 0 }
            let delivery: Delivery?
            do {
                delivery = try storage.delivery(lease.id)
            } catch let error as StorageError where error.kind == .unavailable {
                throw UnreadDelivery(error: error)
            }
            ended.insert(lease)
            guard let delivery else { return 0 }
            try end(delivery, outcome, firstAttempt, now)
            return 1
        case .requeue(let ids):
            return try forEach(ids) { delivery in
                try requeue(delivery, at: now)
                return true
            }
        case .drop(let ids):
            return try forEach(ids) { delivery in
                try drop(delivery, at: now)
                return true
            }
        case .dropUnchanged(let read):
            let known = Dictionary(read.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            return try forEach(read.map(\.id)) { delivery in
                guard let before = known[delivery.id], before.requeued == delivery.requeued,
                    before.isDead == delivery.isDead
                else { return false }
                try drop(delivery, at: now)
                return true
            }
        case .deadLetter(let read, let reason):
            let requeued = Dictionary(read.map { ($0.id, $0.requeued) }, uniquingKeysWith: { first, _ in first })
            return try forEach(read.map(\.id)) { delivery in
                if delivery.isDead { return false }
                guard requeued[delivery.id] == delivery.requeued else { return false }
                try deadLetter(delivery, at: now) { $0.lastError = DeliveryFailure.cut(reason) }
                changes.withdraw(delivery.id)
                return true
            }
        case .makeDue(let ids, let latest):
            return try forEach(ids) { delivery in
                guard let due = try storage.earlierDue(of: delivery, notAfter: latest, at: now) else { return false }
                try reschedule(delivery, to: due)
                return true
            }
        case .keep(let records, let runs): return try keep(records, runs, now)
        case .repair(let table, let keys):
            queues.forget()
            return try keys.reduce(0) { $0 + (try repair(table, $1, now)) }
        }
    }

    private func drop(_ delivery: Delivery, at now: Timestamp) throws {
        try finish(delivery, as: .dropped, at: now)
        changes.withdraw(delivery.id)
    }

    private func end(
        _ delivery: Delivery, _ outcome: DeliveryOutcome, _ firstAttempt: Timestamp?, _ now: Timestamp
    ) throws {
        func note(_ failure: DeliveryFailure, in delivery: inout Delivery) {
            delivery.failedAttempts += 1
            if failure.wasExecuted { delivery.executions += 1 }
            delivery.lastError = DeliveryFailure.cut(failure.message)
            delivery.lastStatus = failure.status
            // The clock may have been ahead at the attempt that is stored.
            delivery.firstAttempt = [delivery.firstAttempt, firstAttempt].compactMap { $0 }.min()
        }
        switch outcome {
        case .succeeded: try finish(delivery, as: .succeeded, at: now)
        case .dropped(let failure):
            try finish(delivery, as: .dropped, because: DeliveryFailure.cut(failure.message), at: now)
        case .retry(let due, let failure):
            try postpone(delivery, to: due, at: now) { note(failure, in: &$0) }
        case .dead(let failure):
            if case .dead = delivery.state { return }
            try deadLetter(delivery, at: now) { note(failure, in: &$0) }
        }
    }

    /// Visits deliveries that aren't leased, and prevents their being leased until the batch is durable.
    ///
    /// - Parameter body: returns whether it has changed the delivery.
    private func forEach(_ ids: [DeliveryID], _ body: (Delivery) throws -> Bool) throws -> Int {
        var count = 0
        for id in ids where hold(id) {
            guard let delivery = try storage.readableDelivery(id) else { continue }
            if try body(delivery) { count += 1 }
        }
        return count
    }

    /// Leases a delivery for the batch.
    ///
    /// - Returns: false if an attempt holds the lease.
    func hold(_ id: DeliveryID) -> Bool {
        if held[id] != nil { return true }
        held[id] = leases.lease(id)
        return held[id] != nil
    }

    /// Whether an attempt at the delivery has ended in the batch. Its lease is kept until the batch is durable.
    func hasEnded(_ id: DeliveryID) -> Bool { ended.contains { $0.id == id } }

    private func keep(
        _ records: [(name: String, value: [UInt8]?)], _ runs: [ScheduledRun], _ now: Timestamp
    ) throws -> Int {
        for record in records {
            if let value = record.value {
                try storage.put(.deliveries, OutboxKey.record(record.name), value)
            } else {
                try storage.delete(.deliveries, OutboxKey.record(record.name))
            }
        }
        guard !runs.isEmpty else { return 0 }
        let version = versions.next(at: now)
        for (index, run) in runs.enumerated() {
            let event = Event(
                id: EventID(version: version, ordinal: UInt32(index)), time: run.due, auth: EventAuth(.system),
                content: .schedule(job: run.function, isManual: run.isManual))
            try put(event, for: [EventReceiver(function: run.function, due: now)], at: now)
        }
        return Int(version)
    }

    /// - Returns: the number of repairs.
    private func repair(_ table: StorageTable, _ key: [UInt8], _ now: Timestamp) throws -> Int {
        guard let row = try storage.get(table, key) else { return 0 }
        let audit = OutboxAudit(storage: storage, now: now)
        var count = 0
        for finding in try table == .events ? audit.findings(ofEvent: key, row) : audit.findings(key, row) {
            guard !finding.repairs.isEmpty, finding.holding.allSatisfy(hold) else { continue }
            for repair in finding.repairs {
                switch repair {
                case .put(let table, let key, let row): try storage.put(table, key, row)
                case .delete(let table, let key):
                    try storage.delete(table, key)
                    if table == .deliveries, key.first == 1, let id = try? OutboxKey.delivery(key) {
                        changes.add(DeliveryEnd(id: id, outcome: .dropped, time: now))
                    }
                }
            }
            // The dispatcher may have them in memory as they were.
            for id in finding.holding { changes.withdraw(id) }
            if let function = OutboxKey.firstName(key), table == .deliveries {
                changes.add(function, due: now)
                // Its due times may be any.
                changes.note(function, due: Timestamp(microseconds: .min))
            }
            count += 1
        }
        return count
    }

    // MARK: A commit

    /// The delivery that a commit ends.
    ///
    /// - Parameter isCompleting: whether the commit ends the delivery under whose lease it runs.
    /// - Throws: `failedPrecondition` if the lease has ended, or its delivery is no longer pending.
    func delivery(of context: OperationContext, completing isCompleting: Bool) throws -> Delivery? {
        guard let lease = context.delivery else { return nil }
        guard leases.isCurrent(lease), !ended.contains(lease) else { throw DocumentError.leaseEnded }
        guard isCompleting else { return nil }
        guard let delivery = try storage.delivery(lease.id), delivery.due != nil else { throw DocumentError.leaseEnded }
        return delivery
    }

    /// - Throws: `DocumentError` if an effect is invalid.
    func check(
        _ effects: [Effect], by routes: EventRoutes, _ context: OperationContext, at now: Timestamp
    ) throws {
        guard !effects.isEmpty else { return }
        guard context.policy == nil else {
            throw DocumentError(.permissionDenied, "only functions and admins enqueue tasks and publish events")
        }
        try DocumentLimits.check(effects, at: now)
        var names: Set<[String]> = []
        for effect in effects {
            switch effect {
            case .publish: break
            case .enqueue(let task):
                try routes.checkHasQueue(task.queue)
                guard let name = task.name else { continue }
                guard names.insert([task.queue, name]).inserted else {
                    throw DocumentError(.alreadyExists, "two tasks of one commit for \(task.queue) are named \(name)")
                }
                try storage.checkIsFree(name, of: task.queue, at: now)
            case .deleteTask(let id, let queue):
                try routes.checkHasQueue(queue)
                // Finds a row that can't be read before anything is written.
                _ = try storage.task(id, of: queue)
            }
        }
    }

    /// Removes the delivery that a commit completes; its lease ends with the batch.
    func complete(_ delivery: Delivery, under lease: DeliveryLease?, at now: Timestamp) throws {
        if let lease { ended.insert(lease) }
        try finish(delivery, as: .succeeded, at: now)
    }

    /// Writes the events of a commit's changes and effects.
    ///
    /// - Returns: the number of bytes stored.
    /// - Throws: if storing failed half-way.
    func put(
        _ caused: [CausedEvent], _ effects: [Effect], by routes: EventRoutes, version: Int64,
        _ context: OperationContext, at now: Timestamp
    ) throws -> Int {
        var maker = EventMaker(version: version, context: context, maxDepth: routes.maxDepth)
        var bytes = 0
        for event in caused {
            let receivers = event.receivers.map { receiver in
                EventReceiver(
                    function: receiver.function, due: now, orderKey: receiver.orderKey,
                    deadBecause: maker.loop(to: receiver.function))
            }
            bytes += try put(maker.make(event.content), for: receivers, at: now)
        }
        for effect in effects {
            switch effect {
            case .enqueue(let task):
                let due = max(task.scheduleTime ?? now, now)
                let receiver = EventReceiver(
                    function: task.queue, due: due, taskName: task.name,
                    deadBecause: task.startsNewChain ? nil : maker.loop(to: task.queue))
                bytes += try put(maker.make(.task(task), isNewChain: task.startsNewChain), for: [receiver], at: now)
            case .publish(let cloudEvent):
                let receivers = routes.receivers(of: cloudEvent).map {
                    EventReceiver(function: $0, due: now, deadBecause: maker.loop(to: $0))
                }
                guard !receivers.isEmpty else { continue }
                bytes += try put(maker.make(.custom(cloudEvent)), for: receivers, at: now)
            case .deleteTask(let id, let queue):
                guard let task = try storage.task(id, of: queue) else { continue }
                // An attempt that is in progress goes on; if it fails, there is no task left to retry.
                _ = hold(task.id)
                try finish(task, as: .dropped, at: now)
                changes.withdraw(task.id)
            }
        }
        return bytes
    }

    // MARK: The batch's end

    /// Called when the batch is durable: announces the changes, before deliveries that an operator changed can be leased.
    func publish(to outbox: Outbox) {
        outbox.dueBounds.stored(changes.stored)
        for lease in ended { leases.end(lease) }
        changes.removeWithdrawn()
        // Requeued deliveries can be leased at once, withdrawn ones only after their withdrawal was announced.
        for (id, lease) in held where !changes.withdrawn.contains(id) { leases.end(lease) }
        outbox.notify(of: changes)
        for id in changes.withdrawn { if let lease = held[id] { leases.end(lease) } }
    }

    /// Called when nothing of the batch was kept: releases the batch's own leases. Leases of attempts stay unchanged.
    func releaseLeases() { for lease in held.values { leases.end(lease) } }
}

/// Makes the events of one commit.
private struct EventMaker {
    private let version: Int64
    private let auth: EventAuth
    private let chain: [String]
    private let maxDepth: Int
    private var ordinal: UInt32 = 0

    init(version: Int64, context: OperationContext, maxDepth: Int) {
        self.version = version
        self.maxDepth = maxDepth
        auth = context.auth
        chain = context.chain
    }

    mutating func make(_ content: Event.Content, isNewChain: Bool = false) -> Event {
        defer { ordinal += 1 }
        return Event(
            id: EventID(version: version, ordinal: ordinal), time: Timestamp(microseconds: version), auth: auth,
            chain: isNewChain ? [] : chain, content: content)
    }

    /// Why an event isn't delivered to a function: the function would exceed the chain's limit.
    func loop(to function: String) -> String? {
        guard chain.count >= maxDepth else { return nil }
        return "events have led from function to function \(chain.count) times, the limit: "
            + (chain + [function]).joined(separator: " → ")
    }
}

extension DeliveryFailure {
    private static let maxMessageBytes = 4096

    /// The message, cut to the length that is stored.
    static func cut(_ message: String) -> String {
        guard message.utf8.count > maxMessageBytes else { return message }
        // If the cut splits a character, decoding replaces its bytes with U+FFFD.
        return String(decoding: message.utf8.prefix(maxMessageBytes), as: UTF8.self) + "…"
    }
}

extension DocumentError {
    /// Not to be retried: the event is redelivered, or not delivered at all.
    static let leaseEnded = DocumentError(
        .failedPrecondition, "the event was taken back from this worker, whose time for it was over")
}
