import Crypto
import Synchronization

/// The App Check tokens that have been consumed, until they expire.
///
/// Only digests are stored, and only in memory: tokens live for about an hour, and a restart forgets them.
package final class ConsumedTokens: Sendable {
    private struct State {
        var expiries: [SHA256.Digest: Int64] = [:]
        var sweptAt: Int64 = 0
    }

    private let now: WallClock
    private let state = Mutex(State())

    /// The interval between removals of expired tokens, in seconds.
    private static let sweepInterval: Int64 = 60

    package init(now: @escaping WallClock = systemWallClock) { self.now = now }

    /// Consumes a verified token.
    /// - Parameter expires: seconds since 1970.
    /// - Returns: whether it had been consumed before.
    package func consume(_ token: some StringProtocol, expires: Int64) -> Bool {
        let digest = SHA256.hash(data: Array(token.utf8))
        let now = now()
        return state.withLock { state in
            if now - state.sweptAt >= Self.sweepInterval {
                state.sweptAt = now
                state.expiries = state.expiries.filter { $0.value > now }
            }
            return state.expiries.updateValue(expires, forKey: digest) != nil
        }
    }
}
