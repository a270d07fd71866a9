import CommitPipeline
import DocumentModel
import StorageEngine
import Synchronization

/// Documents as a kind of data: the writer thread's work for them besides their commits.
final class DocumentWriter: DataKind, @unchecked Sendable {
    static let id: UInt8 = 0

    // Everything below is used only on the writer's thread; state shared with other threads is in `parts`.
    private let parts: DocumentParts
    let turns: TransactionTurns
    private var indexes: IndexMaintenance
    /// The changes of the open batch's commits.
    private var changes: [[RecentChanges.Entry]] = []
    /// When a batch last had work on indexes.
    private var workedAt: Duration
    private let threads = Mutex(ThreadGroups())

    /// How long work on indexes that has failed waits for a batch without jobs: under load each batch may have some.
    private static let longestIdleWait: Duration = .seconds(60)

    /// - Throws: `StorageError` if the stored index data is damaged.
    init(_ parts: DocumentParts, _ storage: any StorageWriter) throws {
        self.parts = parts
        turns = TransactionTurns(parts)
        workedAt = parts.elapsed()
        try IndexMaintenance.prepare(storage)
        indexes = try IndexMaintenance(storage, onEvent: parts.configuration.onIndexEvent)
    }

    var catalog: IndexCatalog { indexes.catalog }

    // MARK: Work

    func run(_ work: IndexJob.Work) {
        switch work {
        case .configure(let configuration, let completion):
            indexes.configure(configuration)
            indexes.whenDurable(completion)
        case .rebuild(let completion):
            indexes.rebuild()
            indexes.whenDone(completion)
        case .done(let completion): indexes.whenDone(completion)
        }
    }

    /// Called if the batch has failed before its work on indexes was run.
    func fail(_ work: IndexJob.Work) {
        if case .configure(let configuration, _) = work { indexes.configureLater(configuration) }
    }

    /// Records the changes of a commit.
    func note(_ applied: [RecentChanges.Entry], in batch: CommitBatch) {
        batch.add(bytes: applied.reduce(0) { $0 + $1.heldBytes })
        parts.transactions.withLock { $0.applied(applied) }
        parts.cache.willChange(applied.lazy.map(\.change.path))
        changes.append(applied)
    }

    // MARK: Batches

    func beginBatch() { turns.beginBatch() }

    func finishRound(in batch: CommitBatch, to storage: any StorageWriter) throws {
        try indexes.storeConfiguration(storage)
        try turns.startGranted(in: batch, catalog)
    }

    var expectsMoreJobs: Bool { turns.expectsMoreJobs }

    func isAwaited(_ transaction: TransactionID) -> Bool { turns.isAwaited(transaction) }

    /// Builds and drops indexes within their time limit, which is longer if the batch has no jobs. Once that has
    /// failed, it waits for such a batch: the jobs of others would fail with it.
    func work(in batch: CommitBatch, to storage: any StorageWriter, isIdle: Bool) throws {
        guard !batch.isForOneJob, indexes.hasWork, isIdle || indexes.pause == .zero || isOverdue else { return }
        workedAt = parts.elapsed()
        try indexes.configureRefused(storage)
        let configuration = parts.configuration
        let share = configuration.indexShareLimit
        let limit = isIdle ? configuration.indexBatchLimit : share
        let start = ContinuousClock.now
        var documents = 0
        do {
            try indexes.step(storage) {
                documents += 1
                let time = ContinuousClock.now - start
                return documents >= configuration.indexBatch || time >= limit
                    || (time >= share && batch.hasWaitingJobs)
            }
        } catch let error as StorageError where error.kind == .damaged {
            // No commit needs what is built or removed.
            indexes.stall(error.documentError)
        }
    }

    private var isOverdue: Bool { parts.elapsed() - workedAt >= Self.longestIdleWait }

    func expire() -> Int64? {
        parts.transactions.withLock { table in
            table.expire(at: parts.elapsed())
            return table.oldestRead
        }
    }

    var generation: Int64? { indexes.catalog.generation }

    func check(_ run: CheckRun) throws -> (any Sendable)? {
        var check = try DocumentCheck(run)
        try check.check()
        return check.result
    }

    func committed(_ version: Int64?) {
        indexes.kept()
        if let version {
            parts.cache.committed(changes.joined().lazy.map { ($0.change.path, $0.change.after) }, version: version)
            parts.listeners.offer(changes, upTo: version)
        }
        changes = []
    }

    func rollBack(to version: Int64, _ error: DocumentError, isDamage: Bool) {
        indexes.rollBack(error)
        changes = []
        parts.cache.rolledBack()
        parts.transactions.withLock { $0.rollBack(to: version) }
    }

    var pause: Duration? { [turns.pause, indexes.pause].compactMap(\.self).min() }

    // MARK: Threads

    func start() throws {
        let thread = ListenerThread(parts, SnapshotSession(try parts.engine.makeReadSession()))
        try threads.withLock { try $0.start("documents.listeners") { thread.run() } }
    }

    func shutDown() async {
        parts.listeners.close(CommitPipeline.shutDown)
        await threads.withLock { $0.end(of: "documents.listeners") }.wait()
    }

    func refuseAll(_ error: DocumentError) {
        turns.refuseAll(error)
        indexes.refuseAll(error)
    }
}

extension DocumentLimits {
    static let maxBatchWrites = 500

    /// Checks a list of independent writes as a whole.
    static func check(batch writes: [Write]) throws(DocumentError) {
        guard writes.count <= maxBatchWrites else {
            throw .invalidArgument(
                "a batch of single writes has \(writes.count) writes, more than \(maxBatchWrites), the limit")
        }
        var paths: Set<DocumentPath> = []
        for write in writes {
            guard paths.insert(write.path).inserted else {
                throw .invalidArgument(
                    "a batch of single writes has two of the document \"\(write.path)\"; each may have one")
            }
        }
        try WriteComputation.checkSize(of: writes)
    }
}
