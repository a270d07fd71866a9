package import CommitPipeline
package import StorageEngine
package import DocumentModel
import Synchronization

/// Documents with transactions, queries and idempotency keys, on a storage engine.
///
/// Reads run on the pipeline's readers, many in one snapshot; commits on its writer, many in one durable batch.
package final class DocumentStore: DocumentBackend {
    package let pipeline: CommitPipeline
    let parts: DocumentParts
    let writer: DocumentWriter
    let costlyQueries = CostlyQueryLog()
    private let claims = CompletionClaims()

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
    ///   - commits: the limits of the pipeline.
    /// - Throws: `StorageError`.
    package convenience init(
        engine: any StorageEngine, now: @escaping @Sendable () -> Timestamp,
        elapsed: (@Sendable () -> Duration)? = nil, configuration: StoreConfiguration = StoreConfiguration(),
        commits: CommitConfiguration = CommitConfiguration()
    ) throws {
        let pipeline = try CommitPipeline(engine: engine, now: now, elapsed: elapsed, configuration: commits)
        try self.init(on: pipeline, configuration: configuration)
    }

    var engine: any StorageEngine { parts.engine }
    var now: @Sendable () -> Timestamp { parts.now }
    var elapsed: @Sendable () -> Duration { parts.elapsed }
    var configuration: StoreConfiguration { parts.configuration }
    var listeners: ListenerHub { parts.listeners }

    /// The deliveries of events to functions.
    package var outbox: Outbox { pipeline.outbox }

    /// Sets the functions that events of commits are delivered to from now on, all at once.
    ///
    /// - Parameter routes: may contain the triggers of other kinds of data.
    package func routeEvents(by routes: EventRoutes = EventRoutes(), documents triggers: [DocumentTrigger] = []) {
        var routes = routes
        routes.setTriggers(DocumentTriggers(triggers), of: DocumentWriter.self)
        outbox.routes = routes
    }

    /// Starts the pipeline's threads. Operations that were submitted before the start wait for it.
    ///
    /// - Throws: `StorageError` if a reader can't be opened.
    package func start() throws { try pipeline.start() }

    /// Finishes the accepted operations, refuses new ones, and ends the pipeline's threads. The engine stays open.
    package func shutdown() async {
        parts.cache.close()
        await pipeline.shutdown()
    }

    /// The documents' part of a commit that also has parts of other kinds. For one commit, on the writer's thread. The
    /// policy and owner are those of the commit.
    package func part(_ writes: [Write]) -> any CommitPart { DocumentCommit(writes, nil, writer, parts) }

    package func claim(
        isRepeatable: Bool, in context: OperationContext, completion: @escaping Completion<ClaimAnswer>
    ) {
        claims.claim(isRepeatable: isRepeatable, in: context, by: pipeline, completion: completion)
    }

    package func settle(_ answer: [UInt8]?, in context: OperationContext, completion: @escaping Completion<Void>) {
        claims.settle(answer, in: context, by: pipeline, completion: completion)
    }

    func releaseClaims(of owner: UInt64) { claims.release(owner: owner, by: pipeline) }

    static let notTaken = DocumentError(
        .unavailable, "the document store is shutting down, or is overloaded; retry later")
}
