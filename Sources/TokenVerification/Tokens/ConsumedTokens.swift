import Crypto
import Synchronization

/// Records the App Check tokens that have been consumed, until they expire.
package protocol TokenConsumption: Sendable {
    /// Consumes a verified token.
    ///
    /// - Parameters:
    ///   - expires: seconds since 1970.
    ///   - completion: called once, on any thread: with whether the token had been consumed before, or nil if that can't
    ///     be known at the moment.
    func consume(_ token: String, expires: Int64, _ completion: @escaping @Sendable (Bool?) -> Void)
}

/// Records consumed tokens in memory: a restart forgets them.
///
/// Only digests are stored.
package final class ConsumedTokens: TokenConsumption {
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

    package func consume(_ token: String, expires: Int64, _ completion: @escaping @Sendable (Bool?) -> Void) {
        completion(consume(token, expires: expires))
    }
}
