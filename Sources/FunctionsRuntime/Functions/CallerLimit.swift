package import FunctionManifest

/// How often one caller may call a function.
///
/// `.perUser(10, per: .seconds(60))` allows a user ten calls per minute: all at once after an idle period, then one
/// every six seconds. A call beyond the limit fails with RESOURCE_EXHAUSTED (429) and the time to wait, and the handler
/// doesn't run.
public struct CallerLimit: Sendable, Hashable {
    package let manifest: RateLimitManifest
    fileprivate let time: Duration

    /// By the verified user; calls without a user count for their address.
    ///
    /// - Parameters:
    ///   - count: 1 to 1,000,000 calls.
    ///   - time: 1 s to a day, in whole seconds.
    public static func perUser(_ count: Int, per time: Duration) -> CallerLimit { CallerLimit(.user, count, time) }

    /// By the address of the caller, regardless of the user. For IPv6, the first 64 bits of the address count.
    ///
    /// - Parameters:
    ///   - count: 1 to 1,000,000 calls.
    ///   - time: 1 s to a day, in whole seconds.
    public static func perAddress(_ count: Int, per time: Duration) -> CallerLimit {
        CallerLimit(.address, count, time)
    }

    private init(_ subject: RateLimitManifest.Subject, _ count: Int, _ time: Duration) {
        self.time = time
        manifest = RateLimitManifest(per: subject, count: count, seconds: Int(clamping: time.components.seconds))
    }
}

extension FunctionOption where Kind: CallableFunctionKind {
    /// Limits how often one caller may call; all limits apply. Default: none.
    public static func callerLimit(_ limits: CallerLimit...) -> Self {
        .init { $0.add(limits) }
    }
}

extension FunctionOption where Kind == FunctionKind.HTTP {
    /// Limits how often one caller may send requests; all limits apply. Default: none.
    public static func callerLimit(_ limits: CallerLimit...) -> Self {
        .init { $0.add(limits) }
    }
}

extension FunctionOptions {
    fileprivate mutating func add(_ limits: [CallerLimit]) {
        rateLimits += limits.map(\.manifest)
        callerLimitTimes += limits.map(\.time)
    }
}
