import Sharing
import Synchronization

/// The sessions that poll, by id, of which each address has its share.
final class PollSessions: Sendable {
    private let sessions = Mutex<[String: PollSession]>([:])
    private let shares: FairShares<UInt64>

    /// - Parameter total: how many there may be.
    init(_ total: Int) { shares = FairShares(total: total) }

    /// Takes a place for a session that is added then.
    ///
    /// - Returns: false if there is none for the address.
    func reserve(for address: UInt64) -> Bool { shares.take(for: address) }

    func add(_ session: PollSession) { sessions.withLock { $0[session.connection.key.session] = session } }

    func remove(_ session: PollSession) {
        let known = sessions.withLock { $0.removeValue(forKey: session.connection.key.session) }
        if known != nil { shares.release(of: session.address) }
    }

    subscript(id: String) -> PollSession? { sessions.withLock { $0[id] } }
}
