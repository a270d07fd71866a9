import Synchronization

/// The sessions that poll, by id.
final class PollSessions: Sendable {
    private let sessions = Mutex<[String: PollSession]>([:])

    func add(_ session: PollSession) { sessions.withLock { $0[session.connection.key.session] = session } }

    func remove(_ id: String) { _ = sessions.withLock { $0.removeValue(forKey: id) } }

    subscript(id: String) -> PollSession? { sessions.withLock { $0[id] } }
}
