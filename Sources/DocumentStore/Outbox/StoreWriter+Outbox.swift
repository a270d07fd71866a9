import StorageEngine
import DocumentModel

/// What the open batch does to the outbox, and who waits for that.
struct OutboxBatch {
    /// What came in.
    var news = OutboxNews()
    /// Leases that end with the batch: nothing more is done under them.
    var ended: Set<DeliveryLease> = []
    var answers: [(completion: @Sendable (Result<Int, DocumentError>) -> Void, result: Result<Int, DocumentError>)] = []
}

extension StoreWriter {
    /// Does a job on the outbox in the open batch.
    ///
    /// - Throws: where storing failed and the batch must not be kept.
    func work(on job: OutboxJob, _ storage: any StorageWriter) throws {
        do {
            outboxBatch.answers.append((job.completion, .success(try perform(job.work, storage))))
        } catch {
            outboxBatch.answers.append((job.completion, .failure(DocumentError(from: error))))
            // Rows that can't be read are found out before anything is written.
            if error is DecodingFailure { return }
            throw error
        }
    }

    private func perform(_ work: OutboxJob.Work, _ storage: any StorageWriter) throws -> Int {
        let now = store.now()
        switch work {
        case .end(let lease, let outcome, let firstTry):
            guard store.outbox.holds(lease), !outboxBatch.ended.contains(lease) else { return 0 }
            let delivery = try storage.delivery(lease.id)
            outboxBatch.ended.insert(lease)
            guard let delivery else { return 0 }
            try end(delivery, outcome, firstTry, now, storage)
            return 1
        case .retry(let ids):
            return try forEach(ids, storage) { delivery in
                try storage.revive(delivery, at: now, &outboxBatch.news, hold: hold)
                return true
            }
        case .drop(let ids):
            return try forEach(ids, storage) { delivery in
                try storage.finish(delivery, as: .dropped, at: now, &outboxBatch.news)
                outboxBatch.news.withdraw(delivery.id)
                return true
            }
        case .bury(let ids, let reason):
            return try forEach(ids, storage) { delivery in
                if case .dead = delivery.state { return false }
                try storage.bury(delivery, at: now, &outboxBatch.news) { $0.lastError = DeliveryFailure.cut(reason) }
                outboxBatch.news.withdraw(delivery.id)
                return true
            }
        case .keep(let records, let runs): return try keep(records, runs, now, storage)
        case .mend(let table, let keys): return try keys.reduce(0) { $0 + (try mend(table, $1, now, storage)) }
        }
    }

    private func end(
        _ delivery: Delivery, _ outcome: DeliveryOutcome, _ firstTry: Timestamp?, _ now: Timestamp,
        _ storage: any StorageWriter
    ) throws {
        func note(_ failure: DeliveryFailure, in delivery: inout Delivery) {
            delivery.tries += 1
            if failure.wasExecuted { delivery.executions += 1 }
            delivery.lastError = DeliveryFailure.cut(failure.message)
            delivery.lastStatus = failure.status
            delivery.firstTry = delivery.firstTry ?? firstTry
        }
        switch outcome {
        case .succeeded: try storage.finish(delivery, as: .succeeded, at: now, &outboxBatch.news)
        case .dropped(let failure):
            try storage.finish(
                delivery, as: .dropped, because: DeliveryFailure.cut(failure.message), at: now, &outboxBatch.news)
        case .retry(let due, let failure):
            try storage.postpone(delivery, to: due, at: now, &outboxBatch.news) { note(failure, in: &$0) }
        case .dead(let failure):
            if case .dead = delivery.state { return }
            try storage.bury(delivery, at: now, &outboxBatch.news) { note(failure, in: &$0) }
        }
    }

    /// Those that nobody works on, and that nobody begins to work on before the batch is durable.
    ///
    /// - Parameter body: answers whether there was something to do.
    private func forEach(
        _ ids: [DeliveryID], _ storage: any StorageWriter, _ body: (Delivery) throws -> Bool
    ) throws -> Int {
        var count = 0
        for id in ids where hold(id) {
            guard let delivery = try storage.readableDelivery(id) else { continue }
            if try body(delivery) { count += 1 }
        }
        return count
    }

    /// - Returns: whether nobody works on the delivery.
    func hold(_ id: DeliveryID) -> Bool {
        if heldDeliveries[id] != nil { return true }
        heldDeliveries[id] = store.outbox.lease(id)
        return heldDeliveries[id] != nil
    }

    private func keep(
        _ records: [(name: String, value: [UInt8]?)], _ runs: [ScheduledRun], _ now: Timestamp,
        _ storage: any StorageWriter
    ) throws -> Int {
        for record in records {
            if let value = record.value {
                try storage.put(.deliveries, OutboxKey.record(record.name), value)
            } else {
                try storage.delete(.deliveries, OutboxKey.record(record.name))
            }
        }
        guard !runs.isEmpty else { return 0 }
        let version = max(now.microseconds, lastVersion + 1)
        for (index, run) in runs.enumerated() {
            let event = Event(
                id: EventID(version: version, ordinal: UInt32(index)), time: run.due, auth: EventAuth(.system),
                content: .schedule(job: run.function, isManual: run.isManual))
            try storage.put(
                event, for: [EventReceiver(function: run.function, due: now)], at: now, &outboxBatch.news)
        }
        settle(version)
        return Int(version)
    }

    /// - Returns: how much was put right.
    private func mend(
        _ table: StorageTable, _ key: [UInt8], _ now: Timestamp, _ storage: any StorageWriter
    ) throws -> Int {
        guard let row = try storage.get(table, key) else { return 0 }
        let audit = OutboxAudit(storage: storage, now: now)
        var count = 0
        for finding in try table == .events ? audit.findings(ofEvent: key, row) : audit.findings(key, row) {
            guard !finding.mends.isEmpty, finding.holding.allSatisfy(hold) else { continue }
            for mend in finding.mends {
                switch mend {
                case .put(let table, let key, let row): try storage.put(table, key, row)
                case .delete(let table, let key): try storage.delete(table, key)
                }
            }
            if let function = OutboxKey.firstName(key), table == .deliveries {
                outboxBatch.news.add(function, due: now)
            }
            count += 1
        }
        return count
    }

    // MARK: With batches

    func publishOutbox() {
        let (batch, held) = (outboxBatch, heldDeliveries)
        (outboxBatch, heldDeliveries) = (OutboxBatch(), [:])
        for lease in batch.ended { store.outbox.end(lease) }
        var news = batch.news
        news.settle()
        // What is due anew can be had at once, and what isn't as it was told only when that was told.
        for (id, lease) in held where !news.withdrawn.contains(id) { store.outbox.end(lease) }
        store.outbox.tell(news)
        for id in news.withdrawn { held[id].map { _ = store.outbox.end($0) } }
        for answer in batch.answers { answer.completion(answer.result) }
    }

    /// Nothing of the batch was kept: whoever had a lease still has it.
    func failOutbox(_ error: DocumentError) {
        let (batch, held) = (outboxBatch, heldDeliveries)
        (outboxBatch, heldDeliveries) = (OutboxBatch(), [:])
        for lease in held.values { store.outbox.end(lease) }
        for answer in batch.answers { answer.completion(.failure(error)) }
    }
}

extension DeliveryFailure {
    private static let maxMessageBytes = 4096

    /// A message as long as one is kept.
    static func cut(_ message: String) -> String {
        guard message.utf8.count > maxMessageBytes else { return message }
        // Bytes of a character that was cut through become one that stands for them.
        return String(decoding: message.utf8.prefix(maxMessageBytes), as: UTF8.self) + "…"
    }
}
