import StorageEngine
package import DocumentModel

extension DocumentStore {
    // MARK: Telling

    /// Says which functions are told of the events of commits from now on.
    package func routeEvents(by routes: EventRoutes) { outbox.routes = routes }

    /// - Parameter listener: told what came into the outbox once it is durable, on the store's writing thread: it must
    ///   not block there.
    package func onDeliveries(_ listener: @escaping @Sendable (OutboxNews) -> Void) { outbox.listen(listener) }

    /// - Parameter listener: told of deliveries that are over, however they came to it, once that is durable. It is called
    ///   on the store's writing thread: it must not block there.
    package func onDeliveryEnds(_ listener: @escaping @Sendable ([DeliveryEnd]) -> Void) {
        outbox.listenToEnds(listener)
    }

    // MARK: Working on deliveries

    /// Takes a delivery to work on.
    ///
    /// - Returns: nil while somebody else has it.
    package func lease(_ id: DeliveryID) -> DeliveryLease? { outbox.lease(id) }

    /// No commit that comes from now on counts under the lease. The delivery stays taken until
    /// ``end(_:_:firstTry:completion:)``.
    package func revoke(_ lease: DeliveryLease) { outbox.revoke(lease) }

    /// Gives a delivery back as it is.
    package func release(_ lease: DeliveryLease) { outbox.end(lease) }

    /// Writes what the work on a delivery came to, and lets go of it. One that a commit completed is gone already, whatever
    /// the outcome says.
    ///
    /// - Parameters:
    ///   - firstTry: when the first try began.
    ///   - completion: called on a thread of the store once it is durable. Where it fails the delivery is as it was, and
    ///     the lease still there.
    package func end(
        _ lease: DeliveryLease, _ outcome: DeliveryOutcome, firstTry: Timestamp? = nil,
        completion: @escaping @Sendable (Result<Int, DocumentError>) -> Void
    ) {
        put(OutboxJob(work: .end(lease, outcome, firstTry: firstTry), completion: completion))
    }

    // MARK: By hand

    /// Makes deliveries due now as if they had never been tried; those that are being worked on are left alone. One that
    /// comes behind an earlier change of its document still waits for that.
    ///
    /// - Returns: how many there were.
    /// - Throws: where the store can't commit; those before stay as they were made.
    package func retry(_ ids: [DeliveryID]) async throws(DocumentError) -> Int {
        try await inParts(ids) { .retry($0) }
    }

    /// Removes deliveries that nobody works on.
    package func drop(_ ids: [DeliveryID]) async throws(DocumentError) -> Int { try await inParts(ids) { .drop($0) } }

    /// Gives up deliveries that nobody works on: they become dead letters.
    package func bury(_ ids: [DeliveryID], because reason: String) async throws(DocumentError) -> Int {
        try await inParts(ids) { .bury($0, reason) }
    }

    /// So many at a time that commits don't wait long.
    private func inParts(
        _ ids: [DeliveryID], _ job: ([DeliveryID]) -> OutboxJob.Work
    ) async throws(DocumentError) -> Int {
        var count = 0
        for start in stride(from: 0, to: ids.count, by: 500) {
            count += try await work(job(Array(ids[start..<min(start + 500, ids.count)])))
        }
        return count
    }

    // MARK: Records

    /// Stores records of the host, or removes them, and runs of jobs with them, in one commit.
    ///
    /// - Returns: the events of the runs.
    @discardableResult
    package func keep(
        _ records: [(name: String, value: [UInt8]?)], runs: [ScheduledRun] = []
    ) async throws(DocumentError) -> [EventID] {
        let version = try await work(.keep(records, runs: runs))
        return runs.indices.map { EventID(version: Int64(version), ordinal: UInt32($0)) }
    }

    /// The records whose names start with a text.
    package func records(startingWith prefix: String) async throws(DocumentError) -> [(name: String, value: [UInt8])] {
        try await view { view in
            var records: [(name: String, value: [UInt8])] = []
            try view.storage.scan(.deliveries, KeyRange(prefix: OutboxKey.record(prefix)), reverse: false) {
                key, value in
                records.append((String(decoding: key.dropFirst(), as: UTF8.self), value))
                return true
            }
            return records
        }
    }

    // MARK: Reading

    /// The deliveries of a function that are due at a time, the longest due first.
    ///
    /// They are those of one state: what ended since this was asked for may be among them, and is not to be tried again.
    /// One that can't be read is left out; a check of the store names it.
    ///
    /// - Parameters:
    ///   - excluded: those that are not wanted again.
    ///   - maxBytes: of events; one comes in any case.
    /// - Returns: also whether there are more, and when the next one behind them is due.
    package func dueDeliveries(
        of function: String, at time: Timestamp, except excluded: Set<EventID>, limit: Int, maxBytes: Int
    ) async throws(DocumentError) -> (deliveries: [StoredDelivery], hasMore: Bool, nextDue: Timestamp?) {
        try await view { view in
            var result: (deliveries: [StoredDelivery], hasMore: Bool, nextDue: Timestamp?) = ([], false, nil)
            var bytes = 0
            try view.storage.scanKeys(.deliveries, OutboxKey.due(of: function), reverse: false) { key in
                let due = try OutboxKey.dueTime(key)
                guard due <= time else {
                    result.nextDue = due
                    return false
                }
                let event = try OutboxKey.event(at: key)
                if excluded.contains(event) { return true }
                guard result.deliveries.count < limit, bytes < maxBytes || result.deliveries.isEmpty else {
                    result.hasMore = true
                    return false
                }
                let id = DeliveryID(event: event, function: function)
                guard let delivery = try view.storage.readableDelivery(id), delivery.due == due,
                    let event = try view.storage.storedEvent(event)?.event
                else { return true }
                let stored = StoredDelivery(delivery: delivery, event: event)
                bytes += stored.event.count
                result.deliveries.append(stored)
                return true
            }
            return result
        }
    }

    /// One delivery with its event; nil where there is none.
    ///
    /// - Throws: `dataLoss` where it can't be read.
    package func delivery(_ id: DeliveryID) async throws(DocumentError) -> StoredDelivery? {
        try await view { try $0.storage.wholeDelivery(id) }
    }

    /// The delivery of a task that is still to be done, by its name or else its event; nil where it has ended, or there
    /// never was one.
    ///
    /// - Throws: `dataLoss` where it can't be read.
    package func delivery(ofTask id: String, in queue: String) async throws(DocumentError) -> StoredDelivery? {
        try await view { view in
            guard let task = try view.storage.task(id, of: queue) else { return nil }
            return try view.storage.wholeDelivery(task.id)
        }
    }

    /// Deliveries in the order of function and event, without those that can't be read.
    ///
    /// - Parameters:
    ///   - areDead: the dead letters, else those that are pending or waiting.
    ///   - function: of this one alone.
    ///   - last: the one to go on after.
    package func deliveries(
        areDead: Bool, function: String? = nil, after last: DeliveryID? = nil, limit: Int
    ) async throws(DocumentError) -> [Delivery] {
        try await view { view in
            let kind: UInt8 = areDead ? 3 : 1
            var range =
                function.map { areDead ? OutboxKey.dead(of: $0) : OutboxKey.pending(of: $0) } ?? OutboxKey.all(kind)
            if let last { range.lower = (areDead ? OutboxKey.dead(last) : OutboxKey.pending(last)) + [0] }
            var deliveries: [Delivery] = []
            guard !range.isEmpty else { return deliveries }
            try view.storage.scan(.deliveries, range, reverse: false) { key, row in
                if let id = try? OutboxKey.delivery(key), let delivery = try? Delivery(id: id, row: row) {
                    deliveries.append(delivery)
                }
                return deliveries.count < limit
            }
            return deliveries
        }
    }

    /// How much a function has in the outbox.
    package struct DeliveryCounts: Hashable, Sendable {
        package var function: String
        package var pending: Int
        package var dead: Int
        /// When the oldest event happened that is pending.
        package var oldest: Timestamp?
        /// When the first of them is due, or was.
        package var firstDue: Timestamp?
    }

    /// Of each function that has deliveries, whether or not it is there still.
    package func deliveryCounts() async throws(DocumentError) -> [DeliveryCounts] {
        try await view { view in
            let names = Set(try view.storage.functions(areDead: false) + view.storage.functions(areDead: true))
            return try names.sorted().map { name in
                var (oldest, firstDue) = (Timestamp?.none, Timestamp?.none)
                try view.storage.scanKeys(.deliveries, OutboxKey.pending(of: name), reverse: false) { key in
                    oldest = Timestamp(microseconds: try OutboxKey.event(at: key).version)
                    return false
                }
                try view.storage.scanKeys(.deliveries, OutboxKey.due(of: name), reverse: false) { key in
                    firstDue = try OutboxKey.dueTime(key)
                    return false
                }
                return DeliveryCounts(
                    function: name, pending: try view.storage.count(.deliveries, OutboxKey.pending(of: name)),
                    dead: try view.storage.count(.deliveries, OutboxKey.dead(of: name)), oldest: oldest,
                    firstDue: firstDue)
            }
        }
    }

    /// The functions that have deliveries which are pending or waiting, whether or not they are there still. Takes the
    /// same time however many they have.
    package func functionsWithDeliveries() async throws(DocumentError) -> [String] {
        try await view { try $0.storage.functions(areDead: false) }
    }

    /// How many deliveries of a function are pending or waiting.
    package func pendingCount(of function: String) async throws(DocumentError) -> Int {
        try await view { try $0.storage.count(.deliveries, OutboxKey.pending(of: function)) }
    }

    // MARK: Asking the threads

    func work(_ work: OutboxJob.Work) async throws(DocumentError) -> Int {
        let result = await withCheckedContinuation { continuation in
            put(OutboxJob(work: work) { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    private func put(_ job: OutboxJob) {
        if !writes.put(.outbox(job)) { job.completion(.failure(Self.shutDown)) }
    }

    func view<Answer: Sendable>(
        _ body: @escaping @Sendable (DocumentView) throws -> Answer
    ) async throws(DocumentError) -> Answer {
        let result: Result<Answer, DocumentError> = await withCheckedContinuation { continuation in
            let job = ReadJob.view { result in
                continuation.resume(
                    returning: result.flatMap { view, _ in
                        Result { try body(view) }.mapError { DocumentError(from: $0) }
                    })
            }
            if !reads.put(job) { job.fail(Self.shutDown) }
        }
        return try result.get()
    }
}

extension StorageReader {
    /// The functions that have dead letters, or other deliveries, by name.
    fileprivate func functions(areDead: Bool) throws -> [String] {
        var names: [String] = []
        var range = OutboxKey.all(areDead ? 3 : 1)
        while !range.isEmpty {
            var name: String?
            try scanKeys(.deliveries, range, reverse: false) { key in
                name = try OutboxKey.function(key)
                return false
            }
            guard let name else { break }
            names.append(name)
            range.lower = (areDead ? OutboxKey.dead(of: name) : OutboxKey.pending(of: name)).upper ?? []
        }
        return names
    }

    fileprivate func wholeDelivery(_ id: DeliveryID) throws -> StoredDelivery? {
        guard let delivery = try delivery(id) else { return nil }
        guard let row = try get(.events, OutboxKey.event(id.event)) else {
            throw DecodingFailure("the event \(id.event) is missing")
        }
        return StoredDelivery(delivery: delivery, event: try StoredEvent.decode(row).event)
    }
}
