import DocumentModel
package import FunctionManifest
package import WorkerProtocol
package import NIOCore
import Synchronization

/// The rate limits of one function. All gateway loops share it, so that a limit is exact.
package final class RateLimiter: Sendable {
    package struct Refusal: Equatable {
        var limit: RateLimitManifest
        /// The number of whole seconds after which a call would be admitted.
        package var retryAfter: Int64
    }

    let limits: [RateLimitManifest]
    private let tables: Mutex<[RateTable]>

    /// - Returns: nil if there are no limits.
    package init?(_ limits: [RateLimitManifest], now: NIODeadline = .now()) {
        guard !limits.isEmpty else { return nil }
        self.limits = limits
        tables = Mutex(limits.map { RateTable($0, now: now.nanoseconds) })
    }

    /// Checks a call against every limit. A call within all of them counts for each; a refused call counts for none.
    /// - Parameters:
    ///   - user: the verified user; nil if there is none.
    ///   - address: the client's address; nil if it has none, as over a Unix socket.
    package func refuse(user: String?, address: IPAddress?, now: NIODeadline) -> Refusal? {
        let now = now.nanoseconds
        func caller(_ limit: RateLimitManifest) -> Caller? {
            if limit.per == .user, let user { return .user(user) }
            return address.map { .address($0.holder) }
        }
        return tables.withLock { tables in
            var worst: (wait: Int64, limit: RateLimitManifest)?
            for table in tables {
                guard let caller = caller(table.limit) else { continue }
                let wait = table.wait(caller, now: now)
                if wait > worst?.wait ?? 0 { worst = (wait, table.limit) }
            }
            if let worst { return Refusal(limit: worst.limit, retryAfter: (worst.wait + 999_999_999) / 1_000_000_000) }
            for index in tables.indices {
                if let caller = caller(tables[index].limit) { tables[index].take(caller, now: now) }
            }
            return nil
        }
    }
}

extension RateLimiter {
    /// The limiter for a function's new limits. If the limits are unchanged it is the same one, so that a switch of
    /// releases doesn't reset the counts.
    ///
    /// - Parameter before: the function's current limiter.
    package static func going(on before: RateLimiter?, with limits: [RateLimitManifest]) -> RateLimiter? {
        if let before, before.limits == limits { return before }
        return RateLimiter(limits)
    }
}

extension NIODeadline {
    fileprivate var nanoseconds: Int64 { Int64(clamping: uptimeNanoseconds) }
}

extension InvocationFailure {
    /// The failure of a caller that calls too often, with the delay in the form of Google's APIs.
    package static func rateLimited(_ refusal: RateLimiter.Refusal, _ function: String) -> InvocationFailure {
        let limit = refusal.limit
        let calls = limit.count == 1 ? "1 call" : "\(limit.count) calls"
        let details =
            #"[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"\#(refusal.retryAfter)s"}]"#
        return InvocationFailure(
            code: .resourceExhausted,
            message: "\(function) takes \(calls) in \(limit.seconds) s from one \(limit.per.rawValue). "
                + "Try again in \(refusal.retryAfter) s.",
            details: ByteBuffer(string: details))
    }
}
