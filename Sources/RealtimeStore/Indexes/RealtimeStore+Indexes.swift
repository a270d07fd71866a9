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
        change(
            { kind, _ in
                // A namespace isn't created for the sake of no index.
                guard !needed.isEmpty || kind.namespaces.contains(namespace) else { return }
                kind.update(namespace) { record, _ in record.configure(needed) }
            }, completion: completion)
    }

    package func indexes(in namespace: String) async throws(RealtimeFailure) -> [IndexStatus] {
        try await change { kind, _ in
            kind.indexes(of: namespace).filter { $0.state != .dropping }
                .map { IndexStatus(definition: $0.definition, isReady: $0.state == .ready) }
        }
    }
}
