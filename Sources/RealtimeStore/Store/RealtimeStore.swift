package import CommitPipeline
package import DocumentModel
package import RealtimeModel
import StorageEngine

/// The Realtime Database: trees that many clients share, one for each namespace, beside the documents and in the same
/// commits.
package final class RealtimeStore: Sendable {
    package let configuration: RealtimeStoreConfiguration
    let pipeline: CommitPipeline
    let rows: RealtimeRows
    let catalogs: CatalogCache
    let hub: RealtimeHub
    /// What reads without rules, by callers without listeners, may look at first, and conditional writes without rules.
    package let nodes: NodeCache

    /// Adds the database to a pipeline that hasn't started.
    ///
    /// - Throws: `StorageError`, or `DecodingFailure` if damage concerns more than one namespace.
    package init(
        on pipeline: CommitPipeline, configuration: RealtimeStoreConfiguration = RealtimeStoreConfiguration()
    ) throws {
        self.pipeline = pipeline
        self.configuration = configuration
        let catalogs = CatalogCache()
        let hub = RealtimeHub(pipeline, catalogs, configuration)
        self.catalogs = catalogs
        self.hub = hub
        let nodes = NodeCache(version: pipeline.openedVersion, maxBytes: configuration.maxCachedBytes)
        self.nodes = nodes
        rows = try pipeline.add { storage in
            try RealtimeRows(storage, configuration: configuration, catalogs: catalogs, hub: hub, nodes: nodes)
        }
    }

    // MARK: Reads

    /// Reads one durable state, which has everything that was acknowledged before the call.
    ///
    /// - Parameters:
    ///   - caller: whose turn the read waits for; nil for a short read of a function or the host.
    ///   - isAnsweredAtOnce: asked once the state was read. If it returns true, the reader's thread may call the
    ///     completion: the caller has no listeners that the state's commits must reach before.
    ///   - completion: called after the effects of all commits that the state has were delivered to listeners. It must be
    ///     quick.
    package func read<Success: Sendable>(
        in namespace: String, of caller: ReadCaller? = nil, cancellation: OperationCancellation? = nil,
        isAnsweredAtOnce: @escaping @Sendable () -> Bool = { false },
        _ body: @escaping @Sendable (RealtimeSnapshot) throws -> Success,
        completion: @escaping @Sendable (Result<Success, RealtimeFailure>) -> Void
    ) {
        let job = RealtimeReadJob(
            namespace: namespace, store: self, cancellation: cancellation, isAnsweredAtOnce: isAnsweredAtOnce,
            body: body, completion: completion)
        pipeline.read(job, of: caller, limit: pipeline.configuration.maxWaiting)
    }

    /// Reads one durable state, which has everything that was acknowledged before the call.
    package func read<Success: Sendable>(
        in namespace: String, of caller: ReadCaller? = nil,
        _ body: @escaping @Sendable (RealtimeSnapshot) throws -> Success
    ) async throws(RealtimeFailure) -> Success {
        let result = await withCheckedContinuation { continuation in
            read(in: namespace, of: caller, body) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    // MARK: Writes

    /// Commits writes.
    ///
    /// - Parameters:
    ///   - sequence: keeps the order of a connection's writes; nil if their order doesn't matter.
    ///   - place: one that was reserved in it before; nil for the next.
    ///   - caller: whose turn the check waits for, and the comparison of hashes. What needs little time doesn't wait for the
    ///     turn of a long decision.
    ///   - completion: called once the commit is durable and its effects were delivered to listeners, or with the
    ///     reason why nothing was written. It is called on the listeners' thread, or the writer's if the commit is
    ///     ``RealtimeCommit/isAnsweredAtOnce`` or that of one without listeners gives its turn to another: it must be quick.
    package func commit(
        _ request: RealtimeCommit, in context: OperationContext = OperationContext(),
        sequence: RealtimeWriteSequence? = nil, at place: Int? = nil, of caller: ReadCaller? = nil,
        completion: @escaping @Sendable (Result<RealtimeCommitted, RealtimeFailure>) -> Void
    ) {
        let turn = sequence.map { RealtimeWriteTurn(in: $0, at: place) }
        CommitAttempt(request, to: self, in: context, turn, of: caller, completion: completion).begin()
    }

    /// Commits writes.
    ///
    /// - Throws: why nothing was written.
    @discardableResult
    package func commit(
        _ request: RealtimeCommit, in context: OperationContext = OperationContext(),
        sequence: RealtimeWriteSequence? = nil, of caller: ReadCaller? = nil
    ) async throws(RealtimeFailure) -> RealtimeCommitted {
        let result = await withCheckedContinuation { continuation in
            commit(request, in: context, sequence: sequence, of: caller) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Writes as a part of a commit that has others too, such as a function's documents. Made on the writer's thread.
    package func part(_ request: RealtimeCommit) -> RealtimeCommitPart { RealtimeCommitPart(request, of: rows) }

    /// Calls back with the outcome of a commit whose writes depend on what is at some paths: if one of them has changed
    /// meanwhile, when it is the client's turn to retry, so that it succeeds although many do the same.
    ///
    /// - Parameter isAnsweredAtOnce: whether the caller has no listeners that the commit's effects must reach before.
    package func complete(
        _ paths: [RealtimePath], stale: RealtimePath?, in namespace: String, of client: RetryingClient,
        isAnsweredAtOnce: Bool, completion: @escaping @Sendable () -> Void
    ) {
        let hasNoTurn = stale == nil && (paths.isEmpty || !hub.hasTurns)
        if hasNoTurn, isAnsweredAtOnce, hub.letsAnswersOvertake { return completion() }
        func place(_ path: RealtimePath) -> StaleTurns.Place {
            StaleTurns.Place(namespace: namespace, target: RealtimeTarget(path))
        }
        hub.complete(paths.map(place), stale: stale.map(place), of: client, completion)
    }

    // MARK: States

    /// A namespace in a durable state.
    ///
    /// - Throws: `unknownNamespace`, or if the namespaces can't be read.
    package func snapshot(of namespace: String, in snapshot: Snapshot) throws -> RealtimeSnapshot {
        let record = try catalogs.catalog(of: snapshot).record(of: namespace)
        guard record != nil || configuration.createsNamespaces else {
            throw RealtimeFailure.unknownNamespace(namespace)
        }
        return RealtimeSnapshot(record, in: snapshot, limits: configuration.limits)
    }
}

/// Reads a namespace in one durable state.
struct RealtimeReadJob<Success: Sendable>: SnapshotJob {
    let namespace: String
    let store: RealtimeStore
    let cancellation: OperationCancellation?
    let isAnsweredAtOnce: @Sendable () -> Bool
    let body: @Sendable (RealtimeSnapshot) throws -> Success
    let completion: @Sendable (Result<Success, RealtimeFailure>) -> Void

    func run(on snapshot: Snapshot) {
        let result = Result { try body(try store.snapshot(of: namespace, in: snapshot)) }
            .mapError { RealtimeFailure(from: $0) }
        let version = snapshot.version
        snapshot.complete { [self] in
            if isAnsweredAtOnce() { return completion(result) }
            store.hub.complete(at: version) { [completion] in completion(result) }
        }
    }

    func fail(_ error: DocumentError) {
        store.hub.complete { [completion] in completion(.failure(RealtimeFailure(from: error))) }
    }

    var isWanted: Bool { cancellation?.isCancelled != true }
}
