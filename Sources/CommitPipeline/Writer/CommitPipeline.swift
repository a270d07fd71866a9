package import DocumentModel
package import StorageEngine
import Synchronization

/// All durable data on one engine: one writer, whose batches combine many commits under one rising version, and readers
/// of snapshots beside it.
///
/// The stored data belongs to kinds of data (``DataKind``), which the pipeline doesn't know; what commits cause, such
/// as events, deliveries and kept answers, is the pipeline's own. One sync makes a whole batch durable, and no commit
/// is answered before it.
package final class CommitPipeline: Sendable {
    private struct Kinds {
        var all: [any DataKind] = []
        var isStarted = false
    }

    package let engine: any StorageEngine
    package let now: @Sendable () -> Timestamp
    /// A clock that never goes back.
    package let elapsed: @Sendable () -> Duration
    package let configuration: CommitConfiguration
    /// The version of the state that the pipeline was opened with.
    package let openedVersion: Int64
    /// Deliveries of events, tasks and scheduled runs, and the host's records.
    package let outbox: Outbox
    /// Announces durable commits.
    package let signal: CommitSignal
    let jobs = JobQueue<any CommitJob>()
    private let completions = CompletionThread()
    let reads: ReadQueues
    private let kinds = Mutex(Kinds())
    private let threads = Mutex(ThreadGroups())

    /// - Parameters:
    ///   - now: the wall clock, which commit times and expiries are taken from.
    ///   - elapsed: a clock that never goes back.
    /// - Throws: `StorageError`.
    package init(
        engine: any StorageEngine, now: @escaping @Sendable () -> Timestamp,
        elapsed: (@Sendable () -> Duration)? = nil, configuration: CommitConfiguration = CommitConfiguration()
    ) throws {
        self.engine = engine
        self.now = now
        let start = ContinuousClock.now
        self.elapsed = elapsed ?? { start.duration(to: .now) }
        self.configuration = configuration
        openedVersion = try engine.write { try StoreVersion.open($0, at: now()) }
        signal = CommitSignal(version: openedVersion)
        reads = ReadQueues(configuration)
        outbox = Outbox(jobs: jobs, reads: reads, now: now)
    }

    /// Adds a kind of data. All kinds must be added before ``start()``, because the writer works for those that it
    /// starts with: a later one would never learn of a commit or of its failure.
    ///
    /// - Parameter make: reads what the kind has stored and brings it up to date.
    /// - Throws: what `make` throws, such as `StorageError` if the stored data is damaged.
    package func add<Kind: DataKind>(_ make: (any StorageWriter) throws -> Kind) throws -> Kind {
        // Before anything of the kind is stored.
        kinds.withLock { kinds in
            precondition(!kinds.isStarted, "\(Kind.self) was added to a commit pipeline that had already been started")
            precondition(
                !kinds.all.contains { type(of: $0).id == Kind.id },
                "two kinds of data of a commit pipeline have the id \(Kind.id)")
        }
        let kind = try engine.write(make)
        kinds.withLock { $0.all.append(kind) }
        return kind
    }

    /// Starts the threads. Jobs that were submitted before the start wait for it.
    ///
    /// - Throws: `StorageError` if a reader can't be opened; `SystemThread.Refused` if the system refuses a thread.
    package func start() throws {
        let kinds = kinds.withLock { kinds in
            kinds.isStarted = true
            return kinds.all
        }
        let readers = try (0..<max(configuration.readerThreads, 1)).map { _ in
            SnapshotReader(reads.short, SnapshotSession(try engine.makeReadSession()))
        }
        let writer = try makeWriter()
        for kind in kinds { try kind.start() }
        try threads.withLock { threads in
            for reader in readers { try threads.start("store.reader") { reader.run() } }
            try threads.start("store.completions") { [completions] in completions.run() }
            for queue in reads.byCaller {
                for _ in 0..<queue.threads {
                    let reader = CallerReader(queue, engine, completions)
                    // Long reads yield the processors to short ones.
                    try threads.start("store.reader", isBackground: true) { reader.run() }
                }
            }
            try threads.start("store.writer") { writer.run() }
        }
    }

    func makeWriter() throws -> CommitWriter { try CommitWriter(self, jobs: jobs, kinds: kinds.withLock { $0.all }) }

    /// Finishes the submitted jobs, refuses new ones, and ends the threads. The engine stays open.
    package func shutdown() async {
        // Readers may hand jobs to the writer, so they end first.
        reads.close()
        await threads.withLock { $0.end(of: "store.reader") }.wait()
        completions.close()
        await threads.withLock { $0.end(of: "store.completions") }.wait()
        jobs.close()
        await threads.withLock { $0.end(of: "store.writer") }.wait()
        signal.close()
        for kind in kinds.withLock({ $0.all }) { await kind.shutDown() }
    }

    /// Submits a job to the writer, without waiting.
    ///
    /// - Parameter limit: refuses the job if this many are already waiting.
    /// - Returns: false if the pipeline is shutting down or has too many jobs; the job was not taken then.
    package func submit(_ job: any CommitJob, limit: Int = .max) -> Bool { jobs.put(job, limit: limit) }

    /// Submits a job to a reader, without waiting. The job sees everything that was durable at the time of the call. It
    /// fails if the pipeline is shutting down or has too many jobs.
    ///
    /// - Parameters:
    ///   - caller: whose turn the job waits for; nil for a job that is short, or that no other may hold up.
    ///   - limit: refuses a job without a caller if this many are already waiting.
    package func read(_ job: any SnapshotJob, of caller: ReadCaller? = nil, limit: Int = .max) {
        reads.put(job, of: caller, limit: limit)
    }

    /// Commits parts of any kinds together.
    package func commit(_ commit: sending @escaping @Sendable () -> Commit) async -> CommitOutcome {
        await withCheckedContinuation { continuation in
            let job = PartsJob(commit: commit) { continuation.resume(returning: $0) }
            if !submit(job, limit: configuration.maxWaiting) { job.fail(Self.shutDown) }
        }
    }

    /// Checks one state of all data: whether the engine finds its file intact, the rows of each kind
    /// (``DataKind/check(_:)``), and the pipeline's own rows. Commits go on meanwhile. Blocks the calling thread.
    ///
    /// - Parameters:
    ///   - cancellation: interrupts the check of the file.
    ///   - report: called with each problem.
    ///   - progress: called from time to time; an error that it throws ends the check.
    /// - Throws: `DocumentError` if the data can't be read at all, `CancellationError`, or what `report` or `progress`
    ///   throws.
    package func check(
        until cancellation: BlockingWork.Cancellation = BlockingWork.Cancellation(),
        report: (String) throws -> Void, progress: (WorkProgress) throws -> Void
    ) throws -> CommitCheckResult {
        let kinds = kinds.withLock { $0.all }
        do {
            return try CommitCheck.run(on: engine, kinds, until: cancellation, report: report, progress: progress)
        } catch let error as StorageError {
            throw error.documentError
        } catch let error as DecodingFailure {
            throw DocumentError(from: error)
        }
    }

    package static let shutDown = DocumentError(.unavailable, "the document store is shutting down")
    static let overloaded = DocumentError(
        .unavailable, "the document store is overloaded: too many reads are waiting; retry later")
}

/// A commit whose parts the caller provides.
private struct PartsJob: CommitJob {
    /// Makes the commit on the writer's thread, where its parts live.
    var commit: @Sendable () -> Commit
    var completion: @Sendable (CommitOutcome) -> Void

    func run(in batch: CommitBatch) throws {
        let outcome = try batch.run(commit())
        batch.whenDurable { completion($0.map(CommitOutcome.refused) ?? outcome) }
    }

    func fail(_ error: DocumentError) { completion(.refused(error)) }
}
