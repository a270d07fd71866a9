import StorageEngine
import DocumentModel
import Synchronization

/// The writer thread: takes what is waiting, applies it in order in one durable batch, and answers then.
final class StoreWriter: @unchecked Sendable {
    // Everything here is used by the one thread that calls `run`.
    let store: DocumentStore
    /// The highest version ever given out, kept or not.
    var lastVersion: Int64
    /// The version of the state as the open batch has it, and of what is durable.
    var appliedVersion: Int64
    private(set) var durableVersion: Int64
    /// The version up to which whoever waits for commits has been told.
    var publishedVersion: Int64
    var turns = WriterTurns()
    var indexes: IndexMaintenance
    /// The change log as the open batch has it.
    var history: HistoryBounds
    var durableHistory: HistoryBounds
    /// Up to which version nobody needs the log any more, however much there is of it.
    var spared: Int64
    /// The changes of the open batch's commits.
    var batch: [[RecentChanges.Entry]] = []
    /// How much these hold.
    var batchBytes = 0
    /// Answers of the open batch, held back until it is durable.
    private var answers: [(completion: @Sendable (DocumentResponse) -> Void, response: DocumentResponse)] = []
    var outboxBatch = OutboxBatch()
    /// Deliveries that nobody may lease until the open batch is durable, as it changes them by hand.
    var heldDeliveries: [DeliveryID: DeliveryLease] = [:]
    /// Reads of a state that no snapshot holds yet, which can be done once the open batch is durable.
    private var settled: [StoreOperation] = []
    private var sweptAt: Duration?
    /// Whether the log still has what may go.
    var isTrimBehind = false
    /// How long it sleeps at most: transactions end and the log ages though nothing is written.
    private static let longestSleep: Duration = .seconds(10)

    init(store: DocumentStore, version: Int64, history: HistoryBounds, indexes: IndexMaintenance) {
        self.store = store
        self.indexes = indexes
        self.history = history
        durableHistory = history
        spared = version
        lastVersion = version
        appliedVersion = version
        durableVersion = version
        publishedVersion = version
    }

    func run() {
        var left: [WriteJob] = []
        while let jobs = left.isEmpty ? store.writes.take(within: timeout) : left { left = group(jobs) }
        turns.refuseAll(DocumentStore.shutDown)
        indexes.refuseAll(DocumentStore.shutDown)
    }

    var timeout: Duration {
        let pauses = [turns.timeout(at: store.elapsed()), indexes.pause, isTrimBehind ? .milliseconds(100) : nil]
        return pauses.reduce(Self.longestSleep) { min($0, $1 ?? $0) }
    }

    /// One durable batch.
    ///
    /// - Returns: what is left for the next, where this one was full.
    @discardableResult
    func group(_ first: [WriteJob]) -> [WriteJob] {
        var jobs = first
        var next = 0
        batchBytes = 0
        do {
            try store.engine.write { storage in
                turns.startGroup()
                turns.expire(at: store.elapsed())
                let start = ContinuousClock.now
                while true {
                    while next < jobs.count, !isFull {
                        next += 1
                        try process(jobs[next - 1], storage)
                    }
                    try startTurns(storage)
                    // Whoever was just given a turn comes back soon, and can have this sync too.
                    guard !isFull, turns.awaitsNews, ContinuousClock.now - start < store.configuration.groupLimit,
                        let more = store.writes.take(within: store.configuration.groupPause), !more.isEmpty
                    else { break }
                    jobs += more
                }
                try work(on: storage, beside: jobs)
                if appliedVersion != durableVersion || indexes.isChanged {
                    try StoreVersion.write(appliedVersion, generation: indexes.catalog.generation, to: storage)
                }
                try sweep(storage)
                try trimHistory(storage)
            }
            durableVersion = appliedVersion
            indexes.kept()
            durableHistory = history
            // Listeners are told before the answer, so that whoever has it knows that they are.
            publish()
            publishOutbox()
            for answer in answers { answer.completion(answer.response) }
            answers = []
            for operation in settled { readAgain(operation) }
            settled = []
        } catch {
            fail(DocumentError(from: error), jobs[next...])
            return []
        }
        return Array(jobs[next...])
    }

    private var isFull: Bool { batchBytes >= store.configuration.maxBatchBytes }

    /// Holds an answer back until the batch is durable: it tells of what the batch holds.
    func answerWhenDurable(_ operation: StoreOperation, _ response: DocumentResponse) {
        answers.append((operation.completion, response))
    }

    /// Nothing of the batch was kept: all who were in it are told, and the state is what is durable.
    private func fail(_ error: DocumentError, _ rest: ArraySlice<WriteJob>) {
        appliedVersion = durableVersion
        indexes.rollBack(error)
        history = durableHistory
        batch = []
        store.transactions.withLock { $0.rollBack(to: durableVersion) }
        for operation in settled { operation.completion(.failed(error)) }
        settled = []
        for answer in answers { answer.completion(.failed(error)) }
        answers = []
        failOutbox(error)
        for job in rest {
            switch job {
            case .operation(let operation): operation.completion(.failed(error))
            case .release(let owner, let ended): turns.release(owner: owner, ended)
            case .indexes(let job): job.fail(error)
            case .outbox(let job): job.completion(.failure(error))
            }
        }
    }

    /// - Throws: where the batch can't go on.
    private func process(_ job: WriteJob, _ storage: any StorageWriter) throws {
        switch job {
        case .release(let owner, let ended): turns.release(owner: owner, ended)
        case .indexes(let job): try work(on: job, storage)
        case .outbox(let job): try work(on: job, storage)
        case .operation(let operation):
            switch operation.request {
            // Seen at that time, nothing may happen up to it any more.
            case .get(_, .at(let time)), .query(_, .at(let time)), .aggregate(_, _, .at(let time)),
                .explain(_, _, _, .at(let time)), .partition(_, _, .at(let time)), .begin(.readOnly(let time?)):
                settle(time.microseconds)
                settled.append(operation)
            // Its transaction has seen what is in the open batch.
            case .get, .query, .aggregate, .explain, .partition: settled.append(operation)
            case .batchWrite(let writes): try writeBatch(writes, operation, storage)
            case .begin: begin(operation, storage)
            case .rollback(let id):
                let response = rollBack(id, operation.context)
                // An earlier try's commit may have come after this one's begin: what failed then has seen its effect.
                if case .rolledBack = response, let key = operation.context.completion,
                    case .completed(let answer)? = try CompletionRecord.response(to: key, in: storage, at: store.now())
                {
                    answers.append((operation.completion, .completed(answer)))
                } else {
                    // Tells nothing of the batch, so it is true whatever becomes of that.
                    operation.completion(response)
                }
            case .commit(let writes, let transaction, let answer, let effects):
                let response: DocumentResponse
                do {
                    response = try commit(
                        writes, transaction, completing: answer, effects, operation.context, storage)
                } catch {
                    answers.append((operation.completion, .failed(DocumentError(from: error))))
                    throw error
                }
                answers.append((operation.completion, response))
            }
        }
    }

    /// From here on no commit happens at or before a version.
    func settle(_ version: Int64) {
        lastVersion = max(lastVersion, version)
        appliedVersion = max(appliedVersion, version)
    }

    private func readAgain(_ operation: StoreOperation) {
        guard !store.reads.put(.operation(operation)) else { return }
        operation.completion(.failed(DocumentStore.shutDown))
    }

    private func rollBack(_ id: TransactionID, _ context: OperationContext) -> DocumentResponse {
        let time = store.elapsed()
        do {
            let transaction = try store.transactions.withLock { table throws(DocumentError) in
                // Aborted before; the turn it may have stays for its second try.
                if table.hasTicket(id, owner: context.owner) { return nil as OpenTransaction? }
                let transaction = try table.end(id, owner: context.owner, at: time)
                // A client that gives up may still try again, and then names this one.
                table.issueTicket(for: transaction, at: time)
                return transaction
            }
            if let transaction { turns.leave(transaction.id) }
            return .rolledBack
        } catch {
            return .failed(error)
        }
    }

    /// Removes answers that nobody may ask for any more, now and then.
    private func sweep(_ storage: any StorageWriter) throws {
        let time = store.elapsed()
        if let sweptAt, time - sweptAt < .seconds(1) { return }
        sweptAt = time
        spared = store.transactions.withLock { table in
            table.expire(at: time)
            return table.oldestRead ?? durableVersion
        }
        try CompletionRecord.sweep(storage, at: store.now())
        // The next batch goes on.
        if try storage.sweepNames(at: store.now()) { self.sweptAt = nil }
    }
}
