package import CommitPipeline
package import StorageEngine
package import DocumentModel
import Synchronization

/// Documents with transactions, queries and idempotency keys, on a storage engine.
///
/// Reads run on the pipeline's readers, many in one snapshot; commits on its writer, many in one durable batch.
package final class DocumentStore: DocumentRequestBackend {
    package let pipeline: CommitPipeline
    let parts: DocumentParts
    let writer: DocumentWriter
    let costlyQueries = CostlyQueryLog()

    /// Opens the documents of a pipeline, which other kinds of data may share.
    ///
    /// - Throws: `StorageError`.
    package init(on pipeline: CommitPipeline, configuration: StoreConfiguration = StoreConfiguration()) throws {
        self.pipeline = pipeline
        let parts = DocumentParts(pipeline, configuration)
        self.parts = parts
        writer = try pipeline.add { try DocumentWriter(parts, $0) }
    }

    /// Opens documents on a pipeline of their own.
    ///
    /// - Parameters:
    ///   - now: the wall clock, which commit times and expiries are taken from.
    ///   - elapsed: a clock that never goes back, for the bounds of transactions and turns.
    /// - Throws: `StorageError`.
    package convenience init(
        engine: any StorageEngine, now: @escaping @Sendable () -> Timestamp,
        elapsed: (@Sendable () -> Duration)? = nil, configuration: StoreConfiguration = StoreConfiguration()
    ) throws {
        let pipeline = try CommitPipeline(
            engine: engine, now: now, elapsed: elapsed, configuration: configuration.commits)
        try self.init(on: pipeline, configuration: configuration)
    }

    var engine: any StorageEngine { parts.engine }
    var now: @Sendable () -> Timestamp { parts.now }
    var elapsed: @Sendable () -> Duration { parts.elapsed }
    var configuration: StoreConfiguration { parts.configuration }
    var listeners: ListenerHub { parts.listeners }

    /// The deliveries of events to functions.
    package var outbox: Outbox { pipeline.outbox }

    /// Sets the functions that events of commits are delivered to from now on.
    package func routeEvents(by routes: EventRoutes = EventRoutes(), documents triggers: [DocumentTrigger] = []) {
        let triggers = DocumentTriggers(triggers)
        parts.triggers.withLock { $0 = triggers }
        outbox.routes = routes
    }

    /// Starts the pipeline's threads. Operations that were submitted before the start wait for it.
    ///
    /// - Throws: `StorageError` if a reader can't be opened.
    package func start() throws { try pipeline.start() }

    /// Finishes the accepted operations, refuses new ones, and ends the pipeline's threads. The engine stays open.
    package func shutdown() async { await pipeline.shutdown() }

    /// The documents' part of a commit that also has parts of other kinds. For one commit, on the writer's thread.
    package func part(
        _ writes: [Write], in context: OperationContext = OperationContext()
    ) -> any CommitPart {
        DocumentCommit(writes, nil, context, writer, parts)
    }

    /// Performs an operation, without ever blocking the caller.
    ///
    /// - Parameter completion: called once, on a thread of the store, and must not block there; on the caller's thread
    ///   if the operation needn't wait.
    package func perform(
        _ request: DocumentRequest, in context: OperationContext = OperationContext(),
        completion: @escaping @Sendable (DocumentResponse) -> Void
    ) {
        if case .begin(let mode) = request, mode.retried == nil, mode.readTime == nil, context.completion == nil {
            return completion(begin(mode, in: context))
        }
        let operation = StoreOperation(request: request, context: context, completion: completion)
        let taken =
            switch request {
            case .get, .query, .aggregate, .explain, .partition, .begin(.readOnly), .begin(.readWrite(nil)):
                pipeline.read(
                    OperationRead(store: self, operation: operation), limit: configuration.commits.maxWaiting)
            case .begin(.readWrite), .commit, .batchWrite, .rollback:
                pipeline.submit(
                    OperationJob(store: self, operation: operation), limit: configuration.commits.maxWaiting)
            }
        if !taken { completion(.failed(Self.notTaken)) }
    }

    /// Begins a transaction that waits for no turn and reads nothing: it only touches memory, so no thread is woken.
    private func begin(_ mode: TransactionMode, in context: OperationContext) -> DocumentResponse {
        let time = elapsed()
        do {
            let id = try parts.transactions.withLock { table throws(DocumentError) in
                try table.begin(isReadOnly: mode.isReadOnly, context: context, at: time)
            }
            return .began(id, prefetched: [])
        } catch {
            return .failed(error)
        }
    }

    /// Performs an operation.
    package func perform(
        _ request: DocumentRequest, in context: OperationContext = OperationContext()
    ) async -> DocumentResponse {
        await withCheckedContinuation { continuation in
            perform(request, in: context) { continuation.resume(returning: $0) }
        }
    }

    /// Rolls back all transactions of an owner and ends its listeners, because its client is gone.
    package func release(owner: UInt64) {
        listeners.release(owner: owner)
        let ended = parts.transactions.withLock { $0.release(owner: owner) }
        // After the shutdown there are no turns any more.
        _ = pipeline.submit(ReleaseJob(owner: owner, ended: ended, writer: writer))
    }

    static let notTaken = DocumentError(
        .unavailable, "the document store is shutting down, or is overloaded; retry later")
}

extension TransactionMode {
    /// The transaction that is being retried.
    var retried: TransactionID? {
        if case .readWrite(let retrying) = self { retrying } else { nil }
    }

    /// The time in the past that the read sees.
    var readTime: Timestamp? {
        if case .readOnly(let time) = self { time } else { nil }
    }

    var isReadOnly: Bool {
        if case .readOnly = self { true } else { false }
    }
}
