import Synchronization

/// The sessions that are open, by database and id: a client that comes back ends its former one.
final class RealtimeSessions: Sendable {
    struct Key: Hashable {
        var database: String
        var session: String
    }

    private let connections = Mutex<[Key: RealtimeConnection]>([:])

    func add(_ connection: RealtimeConnection, _ key: Key) { connections.withLock { $0[key] = connection } }

    func remove(_ key: Key) { _ = connections.withLock { $0.removeValue(forKey: key) } }

    /// Whether all sessions have ended, with all that was registered for their ends.
    var isEmpty: Bool { connections.withLock { $0.isEmpty } }

    var all: [RealtimeConnection] { connections.withLock { Array($0.values) } }

    subscript(key: Key) -> RealtimeConnection? { connections.withLock { $0[key] } }
}
