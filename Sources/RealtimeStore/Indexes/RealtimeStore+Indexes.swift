import CommitPipeline
import DocumentModel
import RealtimeModel

extension RealtimeStore {
    /// An index of a namespace, and whether queries use it.
    package struct IndexStatus: Hashable, Sendable {
        package var definition: RealtimeIndexDefinition
        package var isReady: Bool
    }

    /// Makes these the indexes of a namespace, as its rules say.
    ///
    /// New ones are built in the background, also after a restart; until then their queries look at all children.
    ///
    /// - Throws: if the store can't commit. The definitions are kept then as soon as commits are.
    package func configureIndexes(
        _ definitions: [RealtimeIndexDefinition], in namespace: String
    ) async throws(RealtimeFailure) {
        let result = await withCheckedContinuation { continuation in
            configureIndexes(definitions, in: namespace) { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    /// As ``configureIndexes(_:in:)``, without a task. The calls are carried out in their order.
    package func configureIndexes(
        _ definitions: [RealtimeIndexDefinition], in namespace: String,
        completion: @escaping @Sendable (Result<Void, RealtimeFailure>) -> Void
    ) {
        let needed = definitions.filter { $0.index != .key && $0.index != .priority }
        let job = RealtimeIndexJob(
            definitions: needed, namespace: namespace,
            change: RealtimeChangeJob(
                kind: rows, body: { kind, _ in kind.configureIndexes(needed, of: namespace) }, completion: completion))
        if !pipeline.submit(job, limit: pipeline.configuration.maxWaiting) { job.change.fail(CommitPipeline.shutDown) }
    }

    package func indexes(in namespace: String) async throws(RealtimeFailure) -> [IndexStatus] {
        try await change { kind, _ in
            kind.indexes(of: namespace).filter { $0.state != .dropping }
                .map { IndexStatus(definition: $0.definition, isReady: $0.state == .ready) }
        }
    }
}

/// Gives a namespace its indexes.
private struct RealtimeIndexJob: CommitJob {
    let definitions: [RealtimeIndexDefinition]
    let namespace: String
    let change: RealtimeChangeJob<Void>

    func run(in batch: CommitBatch) throws { try change.run(in: batch) }

    func fail(_ error: DocumentError) {
        change.kind.configureIndexesLater(definitions, of: namespace)
        change.fail(error)
    }
}
