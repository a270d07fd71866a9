package import FunctionManifest

/// A function's options, applied to the defaults.
package struct FunctionOptions: Sendable {
    package var regions: [Region] = [.usCentral1]
    package var memory: Memory = .mib(256)
    /// Nil for the bundle's.
    package var timeout: Duration?
    /// The bundle's timeout; nil for 60 s. A kind of function that may have less has what it may have.
    package var defaultTimeout: Duration?
    package var cpu: Double?
    package var concurrency: Int?
    package var minInstances = 0
    package var maxInstances = 100
    package var labels: [String: String] = [:]
    package var secrets: [ParamManifest] = []
    package var rateLimits: [RateLimitManifest] = []
    /// Those of ``rateLimits``, as the author has given them.
    var callerLimitTimes: [Duration] = []
    package var ingress: Ingress = .all
    package var invoker: [String] = ["public"]
    package var cors: CORSPolicy?
    package var enforceAppCheck = false
    package var consumeAppCheckToken = false
    package var heartbeat: Duration? = .seconds(30)
    package var authPolicy: (@Sendable (AuthData?) -> Bool)?
    /// Nil for what the kind of function does without the option.
    package var retry: Retry?
    var idempotency = Idempotency()
    package var isOrdered = false
    package var hasAuthContext = false
    package var instance = "*"
    package var maxConcurrentDispatches = 1000
    package var maxDispatchesPerSecond = 500.0
    package var timeZone = "UTC"
    package var missedRuns = MissedRuns.once
    package var overlaps = false

    /// One CPU up to 2 GiB of memory, two up to 8 GiB, as in Google's cloud.
    package var effectiveCPU: Double { cpu ?? (memory.mebibytes <= 2048 ? 1 : memory.mebibytes <= 8192 ? 2 : 4) }

    package var secretNames: [String] { Set(secrets.map(\.name)).sorted() }

    package func effectiveTimeout(of trigger: TriggerManifest) -> Duration {
        timeout ?? min(defaultTimeout ?? .seconds(60), .seconds(trigger.maxTimeoutSeconds))
    }

    /// Durations that the manifest would cut, since it has whole seconds.
    var fractionProblems: [String] {
        var durations: [(name: String, value: Duration?)] = [
            ("timeout", timeout ?? defaultTimeout), ("heartbeat", heartbeat),
        ]
        for time in callerLimitTimes { durations.append(("the time of callerLimit", time)) }
        return durations.compactMap { name, value in
            guard let value, value.components.attoseconds != 0 else { return nil }
            return "\(name) is \(value); it must be whole seconds"
        }
    }

    /// A fraction of a CPU runs one invocation at a time.
    package var effectiveConcurrency: Int { concurrency ?? (effectiveCPU >= 1 ? 80 : 1) }
}

/// An option of a function, such as `.memory(.gib(1))`. If an option is given twice, the last one applies.
///
/// - Parameter Kind: The kind of function. An option that doesn't apply to a kind doesn't compile there.
public struct FunctionOption<Kind>: Sendable {
    let apply: @Sendable (inout FunctionOptions) -> Void

    init(_ apply: @escaping @Sendable (inout FunctionOptions) -> Void) { self.apply = apply }
}

/// The kinds of function, as type parameters of ``FunctionOption``.
public enum FunctionKind {
    /// - Parameter Input: The type of the call's data.
    public enum Callable<Input>: CallableFunctionKind {}
    public enum HTTP {}
    public enum Document: RetriedFunctionKind {}
    /// Of the Realtime Database.
    public enum Reference: RetriedFunctionKind {}
    public enum Schedule: RetriedFunctionKind {}
    public enum TaskQueue: RetriedFunctionKind {}
    public enum Event: RetriedFunctionKind {}
    /// All kinds, for ``FunctionDefaults``.
    public enum Every {}
}

/// The kinds of callable functions, by their data.
public protocol CallableFunctionKind<Input> {
    associatedtype Input
}

/// The kinds of function that are retried with ``Retry``.
public protocol RetriedFunctionKind {}

public typealias CallableOption<Input> = FunctionOption<FunctionKind.Callable<Input>>
public typealias HTTPOption = FunctionOption<FunctionKind.HTTP>
public typealias DocumentOption = FunctionOption<FunctionKind.Document>
public typealias ReferenceOption = FunctionOption<FunctionKind.Reference>
public typealias ScheduleOption = FunctionOption<FunctionKind.Schedule>
public typealias TaskQueueOption = FunctionOption<FunctionKind.TaskQueue>
public typealias EventOption = FunctionOption<FunctionKind.Event>

extension FunctionOption {
    /// The function's region, which is a part of its URL. Default `us-central1`.
    public static func region(_ region: Region, _ more: Region...) -> Self {
        .init { $0.regions = [region] + more }
    }

    /// The memory of one instance. Default 256 MiB.
    public static func memory(_ memory: Memory) -> Self { .init { $0.memory = memory } }

    /// The time limit of one invocation, in whole seconds. Default 60 s; at most 3600 s for callables and HTTP, 540 s
    /// for events, 1800 s for schedules and tasks, 7 s (the default) for functions that block sign-ins. Then the caller gets DEADLINE_EXCEEDED and the handler is cancelled.
    public static func timeout(_ timeout: Duration) -> Self { .init { $0.timeout = timeout } }

    /// CPUs of one instance. Default 1 up to 2 GiB of memory, 2 up to 8 GiB, otherwise 4.
    public static func cpu(_ cpu: Double) -> Self { .init { $0.cpu = cpu } }

    /// The number of concurrent invocations in one instance, 1 to 1000. Default 80, or 1 if `cpu` is below 1.
    public static func concurrency(_ concurrency: Int) -> Self { .init { $0.concurrency = concurrency } }

    /// The number of instances kept warm. Default 0.
    public static func minInstances(_ count: Int) -> Self { .init { $0.minInstances = count } }

    /// The maximum number of instances. Default 100.
    public static func maxInstances(_ count: Int) -> Self { .init { $0.maxInstances = count } }

    /// Names and values for tools that read the manifest.
    public static func labels(_ labels: [String: String]) -> Self {
        .init { $0.labels.merge(labels) { _, new in new } }
    }

    /// Who may reach the function. Recorded in the manifest for tools that deploy elsewhere.
    public static func ingress(_ ingress: Ingress) -> Self { .init { $0.ingress = ingress } }

    /// Which accounts may invoke the function. Default `public`. Recorded in the manifest, as ``ingress(_:)``.
    public static func invoker(_ accounts: String...) -> Self { .init { $0.invoker = accounts } }
}

extension FunctionOption where Kind: CallableFunctionKind {
    /// Which web origins may call. Default: every one.
    public static func cors(_ cors: CORS) -> Self { .init { $0.cors = cors.policy } }

    /// Refuses requests without a valid App Check token with 401. Default false: the token is verified, and an invalid
    /// one leaves ``CallableRequest/app`` nil.
    public static func enforceAppCheck(_ enforce: Bool = true) -> Self { .init { $0.enforceAppCheck = enforce } }

    /// Consumes App Check tokens: if a token is used again, ``AppCheckData/alreadyConsumed`` is true and the function
    /// decides. The host remembers a token until it expires, also across restarts.
    public static func consumeAppCheckToken(_ consume: Bool = true) -> Self {
        .init { $0.consumeAppCheckToken = consume }
    }

    /// The interval of keep-alives on a silent stream, in whole seconds. Default 30 s; nil for none.
    public static func heartbeat(_ interval: Duration?) -> Self { .init { $0.heartbeat = interval } }

    /// Answers 403 PERMISSION_DENIED if this returns false for the caller. The handler doesn't run then.
    public static func authPolicy(_ policy: @escaping @Sendable (AuthData?) -> Bool) -> Self {
        .init { $0.authPolicy = policy }
    }
}

extension FunctionOption where Kind == FunctionKind.Every {
    /// Refuses calls of all callables without a valid App Check token with 401. Default false.
    public static func enforceAppCheck(_ enforce: Bool = true) -> Self { .init { $0.enforceAppCheck = enforce } }
}

extension FunctionOption where Kind == FunctionKind.HTTP {
    /// Which web origins may call. Default: none.
    public static func cors(_ cors: CORS) -> Self { .init { $0.cors = cors.policy } }
}

extension FunctionOption where Kind == FunctionKind.Schedule {
    /// The schedule's time zone, such as `Asia/Tokyo`. Default UTC.
    public static func timeZone(_ identifier: String) -> Self { .init { $0.timeZone = identifier } }

    /// What happens to runs that were due while the host was down, the function was paused, or the previous run was in
    /// progress. Default: once.
    public static func missedRuns(_ missedRuns: MissedRuns) -> Self { .init { $0.missedRuns = missedRuns } }

    /// Allows a run to start while the previous one is in progress or waits for its next attempt. Default false: it is
    /// missed.
    public static func overlap(_ overlaps: Bool = true) -> Self { .init { $0.overlaps = overlaps } }
}
