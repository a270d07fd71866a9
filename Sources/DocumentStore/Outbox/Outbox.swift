import DocumentModel
import Synchronization

/// What of the outbox is in memory: who is told of what, and who works on which delivery.
final class Outbox: Sendable {
    private struct State {
        var routes = EventRoutes()
        var listener: (@Sendable (OutboxNews) -> Void)?
        var endListener: (@Sendable ([DeliveryEnd]) -> Void)?
        var leases: [DeliveryID: Lease] = [:]
        var lastToken: UInt64 = 0
    }

    private struct Lease {
        var token: UInt64
        /// Whether nothing may be committed under it any more, though its work goes on.
        var isRevoked = false
    }

    private let state = Mutex(State())

    var routes: EventRoutes {
        get { state.withLock { $0.routes } }
        set { state.withLock { $0.routes = newValue } }
    }

    func listen(_ listener: @escaping @Sendable (OutboxNews) -> Void) { state.withLock { $0.listener = listener } }

    func listenToEnds(_ listener: @escaping @Sendable ([DeliveryEnd]) -> Void) {
        state.withLock { $0.endListener = listener }
    }

    func tell(_ news: OutboxNews) {
        if !news.isEmpty { state.withLock { $0.listener }?(news) }
        if !news.ended.isEmpty { state.withLock { $0.endListener }?(news.ended) }
    }

    /// - Returns: nil while somebody has it.
    func lease(_ id: DeliveryID) -> DeliveryLease? {
        state.withLock { state in
            guard state.leases[id] == nil else { return nil }
            state.lastToken += 1
            state.leases[id] = Lease(token: state.lastToken)
            return DeliveryLease(id: id, token: state.lastToken)
        }
    }

    /// Whether commits under the lease still count.
    func isCurrent(_ lease: DeliveryLease) -> Bool {
        state.withLock { state in
            guard let found = state.leases[lease.id] else { return false }
            return found.token == lease.token && !found.isRevoked
        }
    }

    /// Whether nobody else has the delivery, whether or not the lease was revoked.
    func holds(_ lease: DeliveryLease) -> Bool { state.withLock { $0.leases[lease.id]?.token == lease.token } }

    func revoke(_ lease: DeliveryLease) {
        state.withLock { state in
            if state.leases[lease.id]?.token == lease.token { state.leases[lease.id]?.isRevoked = true }
        }
    }

    /// - Returns: whether the lease was there.
    @discardableResult
    func end(_ lease: DeliveryLease) -> Bool {
        state.withLock { state in
            guard state.leases[lease.id]?.token == lease.token else { return false }
            state.leases[lease.id] = nil
            return true
        }
    }
}
