package import DocumentModel
import StorageEngine

extension Outbox {
    // MARK: Working on deliveries

    /// Leases a delivery.
    ///
    /// - Returns: nil while it is already leased.
    package func lease(_ id: DeliveryID) -> DeliveryLease? { leases.lease(id) }

    /// Whether an attempt at the delivery is in progress, or an operator's change of it.
    package func isLeased(_ id: DeliveryID) -> Bool { leases.isLeased(id) }

    /// Refuses commits under the lease from now on. The delivery stays leased until ``end(_:_:firstAttempt:completion:)``.
    package func revoke(_ lease: DeliveryLease) { leases.revoke(lease) }

    /// Ends a lease and leaves the delivery unchanged.
    package func release(_ lease: DeliveryLease) { leases.end(lease) }

    /// Stores the outcome of an attempt and ends its lease. If a commit has completed the delivery, it is already gone,
    /// and the outcome has no effect on it.
    ///
    /// - Parameters:
    ///   - firstAttempt: when the first attempt began; if another is stored, the earlier one is kept.
    ///   - completion: called on the writer's thread once the outcome is durable. If storing it fails, the delivery is
    ///     unchanged and still leased.
    package func end(
        _ lease: DeliveryLease, _ outcome: DeliveryOutcome, firstAttempt: Timestamp? = nil,
        completion: @escaping @Sendable (Result<Int, DocumentError>) -> Void
    ) {
        submit(OutboxJob(work: .end(lease, outcome, firstAttempt: firstAttempt), completion: completion))
    }

    // MARK: By an operator

    /// Makes deliveries due now, as if they had never been attempted; leased deliveries are left unchanged. A delivery
    /// that is behind an earlier event of its ordering queue still waits for that event.
    ///
    /// - Returns: the number of deliveries that were requeued.
    /// - Throws: if the store can't commit; the deliveries requeued before that stay requeued.
    package func requeue(_ ids: [DeliveryID]) async throws(DocumentError) -> Int {
        try await inParts(ids) { .requeue($0) }
    }

    /// Removes deliveries that aren't leased.
    package func drop(_ ids: [DeliveryID]) async throws(DocumentError) -> Int { try await inParts(ids) { .drop($0) } }

    /// Removes deliveries that aren't leased, and were neither requeued nor dead-lettered since they were read.
    package func drop(unchanged deliveries: [Delivery]) async throws(DocumentError) -> Int {
        try await inParts(deliveries) { .dropUnchanged($0) }
    }

    /// Dead-letters deliveries that aren't leased and weren't requeued since they were read.
    package func deadLetter(_ deliveries: [Delivery], because reason: String) async throws(DocumentError) -> Int {
        try await inParts(deliveries) { .deadLetter($0, reason) }
    }

    // MARK: After the clock was set back

    private static let keysPerRead = 1000

    /// Makes deliveries of a function due that wait for a time which only a clock that was ahead can have given them: a
    /// task at its scheduled time, if that is still to come, and everything else now. Leased deliveries are left
    /// unchanged.
    ///
    /// - Parameter latest: the latest time at which a retry can be due.
    /// - Returns: the number of deliveries that were changed.
    /// - Throws: if the store can't be read or can't commit; what was changed before that stays changed.
    package func makeDue(_ function: String, notAfter latest: Timestamp) async throws(DocumentError) -> Int {
        let now = now()
        var count = 0
        var next: [UInt8]? = OutboxKey.dueBound(latest, function)
        while let start = next {
            let page = try await read(of: .maintenance) { storage in
                var page: (late: [DeliveryID], next: [UInt8]?) = ([], nil)
                var range = OutboxKey.due(of: function)
                let length = range.lower.count + OutboxKey.timeLength + OutboxKey.eventLength
                range.lower = start
                var keys = 0
                try storage.scanKeys(.deliveries, range, reverse: false) { key in
                    guard keys < Self.keysPerRead else {
                        page.next = key
                        return false
                    }
                    keys += 1
                    // The check reports a key that isn't one.
                    guard key.count == length else { return true }
                    let id = DeliveryID(event: try OutboxKey.event(at: key), function: function)
                    if let delivery = try storage.readableDelivery(id),
                        try storage.earlierDue(of: delivery, notAfter: latest, at: now) != nil
                    {
                        page.late.append(id)
                    }
                    return true
                }
                return page
            }
            if !page.late.isEmpty { count += try await inParts(page.late) { .makeDue($0, notAfter: latest) } }
            next = page.next
        }
        return count
    }

    /// A limited number at a time, so that commits don't wait long.
    private func inParts<Item>(
        _ items: [Item], _ job: ([Item]) -> OutboxJob.Work
    ) async throws(DocumentError) -> Int {
        var count = 0
        for start in stride(from: 0, to: items.count, by: 500) {
            count += try await perform(job(Array(items[start..<min(start + 500, items.count)])))
        }
        return count
    }

    // MARK: Records

    /// Stores or removes records of the host and enqueues scheduled runs, in one commit.
    ///
    /// - Returns: the events of the runs.
    @discardableResult
    package func keep(
        _ records: [(name: String, value: [UInt8]?)], runs: [ScheduledRun] = []
    ) async throws(DocumentError) -> [EventID] {
        let version = try await perform(.keep(records, runs: runs))
        return runs.indices.map { EventID(version: Int64(version), ordinal: UInt32($0)) }
    }

    /// The records whose names start with a prefix.
    package func records(startingWith prefix: String) async throws(DocumentError) -> [(name: String, value: [UInt8])] {
        try await read { storage in
            var records: [(name: String, value: [UInt8])] = []
            try storage.scan(.deliveries, KeyRange(prefix: OutboxKey.record(prefix)), reverse: false) {
                key, value in
                records.append((String(decoding: key.dropFirst(), as: UTF8.self), value))
                return true
            }
            return records
        }
    }

    // MARK: Reading

    /// The deliveries of a function that are due at a time, the longest overdue first.
    ///
    /// They are read from one state: some of them may have ended since the call, and must not be retried. Deliveries
    /// that are missing or can't be read are left out; a check of the store reports all of them.
    ///
    /// - Parameters:
    ///   - excluded: events whose deliveries are left out.
    ///   - maxBytes: the limit on the events' size; the first delivery is returned whatever its size.
    /// - Returns: the deliveries, whether there are more, when the next one after them is due, and the events of those
    ///   that are left out.
    package func dueDeliveries(
        of function: String, at time: Timestamp, except excluded: Set<EventID>, limit: Int, maxBytes: Int
    ) async throws(DocumentError) -> (
        deliveries: [StoredDelivery], hasMore: Bool, nextDue: Timestamp?, damaged: [EventID]
    ) {
        let range = dueBounds.begin(function)
        var first: Timestamp?
        defer { dueBounds.end(function, first: first) }
        let (page, found) = try await read { storage in
            var page: (deliveries: [StoredDelivery], hasMore: Bool, nextDue: Timestamp?, damaged: [EventID]) =
                ([], false, nil, [])
            var first: Timestamp?
            var bytes = 0
            try storage.scanKeys(.deliveries, range, reverse: false) { key in
                // The check reports a key that isn't one.
                guard key.count == range.lower.count + OutboxKey.eventLength else { return true }
                let due = try OutboxKey.dueTime(key)
                first = first ?? due
                guard due <= time else {
                    page.nextDue = due
                    return false
                }
                let event = try OutboxKey.event(at: key)
                if excluded.contains(event) { return true }
                guard page.deliveries.count < limit, bytes < maxBytes || page.deliveries.isEmpty else {
                    page.hasMore = true
                    return false
                }
                do {
                    let id = DeliveryID(event: event, function: function)
                    guard let stored = try storage.delivery(id, dueAt: due) else { return true }
                    bytes += stored.event.count
                    page.deliveries.append(stored)
                } catch is DecodingFailure {
                    page.damaged.append(event)
                }
                return true
            }
            return (page, first ?? DueBounds.never)
        }
        first = found
        return page
    }

    /// One delivery with its event; nil if there is none.
    ///
    /// - Throws: `dataLoss` if it can't be read.
    package func delivery(_ id: DeliveryID) async throws(DocumentError) -> StoredDelivery? {
        try await read { try $0.wholeDelivery(id) }
    }

    /// A task's delivery, found by the task's name or event; nil if the task has ended or never existed.
    ///
    /// - Throws: `dataLoss` if it can't be read.
    package func delivery(ofTask id: String, in queue: String) async throws(DocumentError) -> StoredDelivery? {
        try await read { storage in
            guard let task = try storage.task(id, of: queue) else { return nil }
            return try storage.wholeDelivery(task.id)
        }
    }

    /// Deliveries in the order of function and event, without those that can't be read.
    ///
    /// - Parameters:
    ///   - areDead: true for dead letters, false for pending and waiting deliveries.
    ///   - function: the function whose deliveries are returned; nil for all.
    ///   - last: the delivery after which to continue.
    package func deliveries(
        areDead: Bool, function: String? = nil, after last: DeliveryID? = nil, limit: Int
    ) async throws(DocumentError) -> [Delivery] {
        try await read { storage in
            let kind: UInt8 = areDead ? 3 : 1
            var range =
                function.map { areDead ? OutboxKey.dead(of: $0) : OutboxKey.pending(of: $0) } ?? OutboxKey.all(kind)
            if let last { range.lower = (areDead ? OutboxKey.dead(last) : OutboxKey.pending(last)) + [0] }
            var deliveries: [Delivery] = []
            guard !range.isEmpty else { return deliveries }
            try storage.scan(.deliveries, range, reverse: false) { key, row in
                if let id = try? OutboxKey.delivery(key), let delivery = try? Delivery(id: id, row: row) {
                    deliveries.append(delivery)
                }
                return deliveries.count < limit
            }
            return deliveries
        }
    }

    /// The counts of each function that has deliveries, deployed or not.
    ///
    /// - Parameter known: the functions that are counted if damage hides which ones have deliveries.
    package func counts(of known: [String] = []) async throws(DocumentError) -> [DeliveryCounts] {
        try await read(of: .maintenance) { storage in
            var names = Set(known)
            do {
                names = Set(try storage.functions(areDead: false) + storage.functions(areDead: true))
            } catch let error as StorageError where error.kind == .damaged && !known.isEmpty {}
            return try names.sorted().map { name -> DeliveryCounts in
                do {
                    return try storage.counts(of: name)
                } catch let error as StorageError where error.kind == .damaged {
                    return DeliveryCounts(function: name, damage: error.message)
                }
            }
        }
    }

    /// The functions that have pending or waiting deliveries, deployed or not. Takes the same time for any backlog.
    package func functions() async throws(DocumentError) -> [String] {
        try await read { try $0.functions(areDead: false) }
    }

    /// The number of pending and waiting deliveries of a function.
    package func pendingCount(of function: String) async throws(DocumentError) -> Int {
        try await read(of: .maintenance) { try $0.count(.deliveries, OutboxKey.pending(of: function)) }
    }
}

/// How many deliveries a function has, by state.
package struct DeliveryCounts: Hashable, Sendable {
    package var function: String
    package var pending = 0
    package var dead = 0
    /// When the oldest pending event happened.
    package var oldest: Timestamp?
    /// When the first pending delivery is, or was, due.
    package var firstDue: Timestamp?
    /// Why they can't be counted, which says nothing about other functions; nil if they are.
    package var damage: String?
}

extension StorageReader {
    /// The functions that have dead letters, or other deliveries, by name. Keys that can't be read are left to the
    /// check of the store.
    fileprivate func functions(areDead: Bool) throws -> [String] {
        var names: [String] = []
        var range = OutboxKey.all(areDead ? 3 : 1)
        while !range.isEmpty {
            var first: [UInt8]?
            try scanKeys(.deliveries, range, reverse: false) { key in
                first = key
                return false
            }
            guard let first else { break }
            if let name = try? OutboxKey.function(first) { names.append(name) }
            range.lower = OutboxKey.afterFunction(of: first)
        }
        return names
    }

    fileprivate func counts(of function: String) throws -> DeliveryCounts {
        var counts = DeliveryCounts(function: function)
        // The check reports keys that aren't those of a delivery.
        let (pending, due) = (OutboxKey.pending(of: function), OutboxKey.due(of: function))
        try scanKeys(.deliveries, pending, reverse: false) { key in
            guard key.count == pending.lower.count + OutboxKey.eventLength else { return true }
            counts.oldest = Timestamp(microseconds: try OutboxKey.event(at: key).version)
            return false
        }
        try scanKeys(.deliveries, due, reverse: false) { key in
            guard key.count == due.lower.count + OutboxKey.timeLength + OutboxKey.eventLength else { return true }
            counts.firstDue = try OutboxKey.dueTime(key)
            return false
        }
        counts.pending = try count(.deliveries, pending)
        counts.dead = try count(.deliveries, OutboxKey.dead(of: function))
        return counts
    }

    /// When a delivery is to be due in place of a time that only a clock which was ahead can have given it.
    ///
    /// - Parameter latest: the latest time at which a retry can be due.
    /// - Returns: nil for a delivery that isn't due too late, and for one whose event can't be read.
    func earlierDue(of delivery: Delivery, notAfter latest: Timestamp, at now: Timestamp) throws -> Timestamp? {
        guard let due = delivery.due, due > latest else { return nil }
        // What was written at a time that is over, and has had its due time since then, is a task that waits for its
        // scheduled time. Its event, which may be large, needn't be read.
        let isAsWritten = delivery.lastError == nil && delivery.requeued == nil && delivery.orderKey == nil
        if isAsWritten, delivery.created <= now { return nil }
        guard let stored = try storedEvent(delivery.id.event), let event = try? Event(decoding: stored.event) else {
            return nil
        }
        var earlier = now
        if case .task(let task) = event.content, let time = task.scheduleTime { earlier = max(time, now) }
        return earlier.microseconds < due.microseconds ? earlier : nil
    }

    /// - Returns: nil if it isn't due at the time.
    /// - Throws: `DecodingFailure` if it, or its event, is missing or can't be read.
    fileprivate func delivery(_ id: DeliveryID, dueAt due: Timestamp) throws -> StoredDelivery? {
        guard let delivery = try delivery(id) else { throw DecodingFailure("the delivery is missing") }
        guard delivery.due == due else { return nil }
        guard let event = try storedEvent(id.event)?.event else {
            throw DecodingFailure("the event \(id.event) can't be read")
        }
        return StoredDelivery(delivery: delivery, event: event)
    }

    fileprivate func wholeDelivery(_ id: DeliveryID) throws -> StoredDelivery? {
        guard let delivery = try delivery(id) else { return nil }
        guard let row = try get(.events, OutboxKey.event(id.event)) else {
            throw DecodingFailure("the event \(id.event) is missing")
        }
        return StoredDelivery(delivery: delivery, event: try StoredEvent.decode(row).event)
    }
}
