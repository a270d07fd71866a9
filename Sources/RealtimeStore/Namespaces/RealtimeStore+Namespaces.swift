import RealtimeModel
import StorageEngine

extension RealtimeStore {
    /// The names of all namespaces, in order.
    package func namespaces() async throws(RealtimeFailure) -> [String] {
        try await change { kind, _ in kind.namespaces.sorted() }
    }

    /// The namespaces that can't be read, and why: everything that needs them fails.
    package var damagedNamespaces: [String: String] { rows.damagedNamespaces }

    /// Creates the namespaces that don't exist.
    package func declare(_ namespaces: [String]) async throws(RealtimeFailure) {
        try await change { kind, _ in for namespace in namespaces { kind.update(namespace) { _, _ in } } }
    }

    /// Returns once no background work is left: garbage, layouts, indexes, and results that listeners wait for.
    package func settle() async throws(RealtimeFailure) {
        let settled = Waiter()
        try await change { kind, _ in kind.whenSettled(settled.resume) }
        if let failure = await settled.wait() { throw failure }
        await hub.settle()
    }
}
