import DocumentModel
import StorageEngine
import Synchronization

/// The deliveries of events to functions: written in the commits that cause them, leased, retried, and removed when
/// they have succeeded.
///
/// The commit pipeline stores the deliveries. This class keeps what is only in memory (leases, routes, listeners), and
/// submits jobs to the pipeline's threads.
package final class Outbox: Sendable {
    private struct State {
        var routes = EventRoutes()
        var onChanges: (@Sendable (OutboxChanges) -> Void)?
        var onEnds: (@Sendable ([DeliveryEnd]) -> Void)?
    }

    let leases = DeliveryLeases()
    let dueBounds = DueBounds()
    let now: @Sendable () -> Timestamp
    private let state = Mutex(State())
    private let jobs: JobQueue<any CommitJob>
    private let reads: ReadQueues

    init(jobs: JobQueue<any CommitJob>, reads: ReadQueues, now: @escaping @Sendable () -> Timestamp) {
        self.jobs = jobs
        self.reads = reads
        self.now = now
    }

    /// The functions that events of commits are delivered to from now on. A commit reads them once.
    package var routes: EventRoutes {
        get { state.withLock { $0.routes } }
        set { state.withLock { $0.routes = newValue } }
    }

    // MARK: Notifications

    /// - Parameter listener: called with a batch's changes once they are durable, on the writer's thread: it must not
    ///   block.
    package func onChanges(_ listener: @escaping @Sendable (OutboxChanges) -> Void) {
        state.withLock { $0.onChanges = listener }
    }

    /// - Parameter listener: called with deliveries that have ended, whatever the outcome, once that is durable, on the
    ///   writer's thread: it must not block.
    package func onEnds(_ listener: @escaping @Sendable ([DeliveryEnd]) -> Void) {
        state.withLock { $0.onEnds = listener }
    }

    /// Calls the listeners with the changes of a durable batch.
    func notify(of changes: OutboxChanges) {
        let (onChanges, onEnds) = state.withLock { ($0.onChanges, $0.onEnds) }
        if !changes.isEmpty { onChanges?(changes) }
        if !changes.ended.isEmpty { onEnds?(changes.ended) }
    }

    // MARK: The pipeline's threads

    func perform(_ work: OutboxJob.Work) async throws(DocumentError) -> Int {
        let result = await withCheckedContinuation { continuation in
            submit(OutboxJob(work: work) { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    func submit(_ job: OutboxJob) { if !jobs.put(job) { job.fail(CommitPipeline.shutDown) } }

    /// Answers from a snapshot, on a reader's thread.
    ///
    /// - Parameter caller: whose turn the read waits for; nil for a short read.
    func read<Answer: Sendable>(
        of caller: ReadCaller? = nil, _ body: @escaping @Sendable (any StorageReader) throws -> Answer
    ) async throws(DocumentError) -> Answer {
        let result: Result<Answer, DocumentError> = await withCheckedContinuation { continuation in
            reads.put(OutboxRead(body: body) { continuation.resume(returning: $0) }, of: caller)
        }
        return try result.get()
    }
}

private struct OutboxRead<Answer: Sendable>: SnapshotJob {
    var body: @Sendable (any StorageReader) throws -> Answer
    var completion: @Sendable (Result<Answer, DocumentError>) -> Void

    func run(on snapshot: Snapshot) {
        let result = Result { try body(snapshot.storage) }.mapError(DocumentError.init(ofOutbox:))
        snapshot.complete { [completion] in completion(result) }
    }

    func fail(_ error: DocumentError) { completion(.failure(error)) }
}

extension DocumentError {
    /// The response for any error that an operation on deliveries threw.
    init(ofOutbox error: any Error) {
        guard let damage = error as? DecodingFailure else {
            self.init(from: error)
            return
        }
        self.init(
            .dataLoss,
            "a delivery or its event can't be read, the store is damaged: \(damage.reason); "
                + "\"functions-host data check --repair\" restores or removes it")
    }
}
