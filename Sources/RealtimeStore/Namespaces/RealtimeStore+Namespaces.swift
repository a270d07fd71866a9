import RealtimeModel
import StorageEngine

extension RealtimeStore {
    /// The names of all namespaces, in order.
    package func namespaces() async throws(RealtimeFailure) -> [String] {
        try await change { kind, _ in kind.namespaces.sorted() }
    }

    /// Creates the namespaces that don't exist.
    package func declare(_ namespaces: [String]) async throws(RealtimeFailure) {
        try await change { kind, _ in for namespace in namespaces { kind.update(namespace) { _, _ in } } }
    }

    /// Returns once no background work is left: garbage, layouts, and indexes.
    package func settle() async throws(RealtimeFailure) {
        let settled = Waiter()
        try await change { kind, _ in kind.whenSettled(settled.resume) }
        if let failure = await settled.wait() { throw failure }
    }
}

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
        let needed = definitions.filter { $0.index != .key && $0.index != .priority }
        try await change { kind, _ in kind.update(namespace) { record, _ in record.configure(needed) } }
    }

    package func indexes(in namespace: String) async throws(RealtimeFailure) -> [IndexStatus] {
        try await change { kind, _ in
            (try? kind.record(of: namespace))?.indexes.filter { $0.state != .dropping }
                .map { IndexStatus(definition: $0.definition, isReady: $0.state == .ready) } ?? []
        }
    }
}
