import DocumentModel
import Synchronization

/// The leases of deliveries. Kept in memory, so that a restart releases all of them.
final class DeliveryLeases: Sendable {
    private struct State {
        var leases: [DeliveryID: Lease] = [:]
        var lastToken: UInt64 = 0
    }

    private struct Lease {
        var token: UInt64
        /// Whether commits under the lease are refused, though the work goes on.
        var isRevoked = false
    }

    private let state = Mutex(State())

    /// - Returns: nil while the delivery is leased.
    func lease(_ id: DeliveryID) -> DeliveryLease? {
        state.withLock { state in
            guard state.leases[id] == nil else { return nil }
            state.lastToken += 1
            state.leases[id] = Lease(token: state.lastToken)
            return DeliveryLease(id: id, token: state.lastToken)
        }
    }

    func isLeased(_ id: DeliveryID) -> Bool { state.withLock { $0.leases[id] != nil } }

    /// Whether commits under the lease are accepted.
    func isCurrent(_ lease: DeliveryLease) -> Bool {
        state.withLock { state in
            guard let found = state.leases[lease.id] else { return false }
            return found.token == lease.token && !found.isRevoked
        }
    }

    /// Whether the lease still exists, revoked or not.
    func holds(_ lease: DeliveryLease) -> Bool { state.withLock { $0.leases[lease.id]?.token == lease.token } }

    func revoke(_ lease: DeliveryLease) {
        state.withLock { state in
            if state.leases[lease.id]?.token == lease.token { state.leases[lease.id]?.isRevoked = true }
        }
    }

    func end(_ lease: DeliveryLease) {
        state.withLock { state in
            if state.leases[lease.id]?.token == lease.token { state.leases[lease.id] = nil }
        }
    }
}
