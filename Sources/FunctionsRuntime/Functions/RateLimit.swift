package import FunctionManifest

/// How often one caller may call a function.
///
/// `.perUser(10, per: .seconds(60))` lets a user call ten times in a minute: at once after a quiet time, then once in
/// six seconds. A call beyond it is answered RESOURCE_EXHAUSTED (429) with the time to wait, and the handler isn't run.
public struct RateLimit: Sendable, Hashable {
    package let manifest: RateLimitManifest

    /// By the verified user; calls without one count for their address.
    ///
    /// - Parameters:
    ///   - count: 1 to 1,000,000 calls.
    ///   - time: to the second, 1 s to a day.
    public static func perUser(_ count: Int, per time: Duration) -> RateLimit { RateLimit(.user, count, time) }

    /// By the address that the call comes from, whoever the user is. Of an IPv6 address the first 64 bits count.
    ///
    /// - Parameters:
    ///   - count: 1 to 1,000,000 calls.
    ///   - time: to the second, 1 s to a day.
    public static func perAddress(_ count: Int, per time: Duration) -> RateLimit { RateLimit(.address, count, time) }

    private init(_ subject: RateLimitManifest.Subject, _ count: Int, _ time: Duration) {
        manifest = RateLimitManifest(per: subject, count: count, seconds: Int(clamping: time.components.seconds))
    }
}

extension FunctionOption where Kind == FunctionKind.Callable {
    /// Bounds how often one caller may call; each limit given counts. Default: none.
    public static func rateLimit(_ limits: RateLimit...) -> Self {
        .init { $0.rateLimits += limits.map(\.manifest) }
    }
}

extension FunctionOption where Kind == FunctionKind.HTTP {
    /// Bounds how often one caller may send requests; each limit given counts. Default: none.
    public static func rateLimit(_ limits: RateLimit...) -> Self {
        .init { $0.rateLimits += limits.map(\.manifest) }
    }
}
