package import FunctionManifest

/// What a function may use and how it is reached, after its options are applied to the defaults.
package struct FunctionOptions: Sendable {
    package var regions: [Region] = [.usCentral1]
    package var memory: Memory = .mib(256)
    package var timeout: Duration = .seconds(60)
    package var cpu: Double?
    package var concurrency: Int?
    package var minInstances = 0
    package var maxInstances = 100
    package var labels: [String: String] = [:]
    package var secrets: [ParamManifest] = []
    package var rateLimits: [RateLimitManifest] = []
    package var ingress: Ingress = .all
    package var invoker: [String] = ["public"]
    package var cors: CORSPolicy?
    package var enforceAppCheck = false
    package var consumeAppCheckToken = false
    package var heartbeat: Duration? = .seconds(30)
    package var authPolicy: (@Sendable (AuthData?) -> Bool)?
    package var retry: EventRetryManifest?
    package var isOrdered = false
    package var hasAuthContext = false
    package var taskRetry = TaskRetry()
    package var maxConcurrentDispatches = 1000
    package var maxDispatchesPerSecond = 500.0
    package var timeZone = "UTC"
    package var scheduleRetry = ScheduleRetry()
    package var missedRuns = MissedRuns.once
    package var overlaps = false

    init<Kind>(_ options: [FunctionOption<Kind>]) {
        for option in options { option.apply(&self) }
    }

    /// One CPU up to 2 GiB of memory, two up to 8 GiB, as the cloud gives.
    package var effectiveCPU: Double { cpu ?? (memory.mebibytes <= 2048 ? 1 : memory.mebibytes <= 8192 ? 2 : 4) }

    package var secretNames: [String] { Set(secrets.map(\.name)).sorted() }

    /// A share of a CPU runs one invocation at a time.
    package var effectiveConcurrency: Int { concurrency ?? (effectiveCPU >= 1 ? 80 : 1) }
}

/// An option of a function, such as `.memory(.gib(1))`. Where one is given twice the last counts.
///
/// - Parameter Kind: the kind of function it is for; an option that means nothing to a kind doesn't compile there.
public struct FunctionOption<Kind>: Sendable {
    let apply: @Sendable (inout FunctionOptions) -> Void

    init(_ apply: @escaping @Sendable (inout FunctionOptions) -> Void) { self.apply = apply }
}

/// The kinds of function, as ``FunctionOption`` tells them apart.
public enum FunctionKind {
    public enum Callable {}
    public enum HTTP {}
    public enum Document: RetriedFunctionKind {}
    public enum Schedule {}
    public enum TaskQueue {}
    public enum Event: RetriedFunctionKind {}
}

/// The kinds of function whose events can be tried again by ``EventRetry``.
public protocol RetriedFunctionKind {}

public typealias CallableOption = FunctionOption<FunctionKind.Callable>
public typealias HTTPOption = FunctionOption<FunctionKind.HTTP>
public typealias DocumentOption = FunctionOption<FunctionKind.Document>
public typealias ScheduleOption = FunctionOption<FunctionKind.Schedule>
public typealias TaskQueueOption = FunctionOption<FunctionKind.TaskQueue>
public typealias EventOption = FunctionOption<FunctionKind.Event>

extension FunctionOption {
    /// Where the function is deployed, and a part of its URL. Default `us-central1`.
    public static func region(_ region: Region, _ more: Region...) -> Self {
        .init { $0.regions = [region] + more }
    }

    /// The memory of one instance. Default 256 MiB.
    public static func memory(_ memory: Memory) -> Self { .init { $0.memory = memory } }

    /// How long one invocation may take, to the second. Default 60 s; at most 3600 s for callables and HTTP, 540 s
    /// for events, 1800 s for schedules and tasks. After it the caller is answered DEADLINE_EXCEEDED and the handler cancelled.
    public static func timeout(_ timeout: Duration) -> Self { .init { $0.timeout = timeout } }

    /// CPUs of one instance. Default 1 up to 2 GiB of memory, 2 up to 8 GiB, else 4.
    public static func cpu(_ cpu: Double) -> Self { .init { $0.cpu = cpu } }

    /// How many invocations one instance runs at a time, 1 to 1000. Default 80, or 1 where `cpu` is below 1.
    public static func concurrency(_ concurrency: Int) -> Self { .init { $0.concurrency = concurrency } }

    /// Instances kept warm. Default 0.
    public static func minInstances(_ count: Int) -> Self { .init { $0.minInstances = count } }

    /// The most instances at a time. Default 100.
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

extension FunctionOption where Kind == FunctionKind.Callable {
    /// Which origins' pages may call. Default: every one.
    public static func cors(_ cors: CORS) -> Self { .init { $0.cors = cors.policy } }

    /// Answers 401 where the request has no valid App Check token. Default false: the token is checked and a bad one
    /// leaves ``CallableRequest/app`` nil.
    public static func enforceAppCheck(_ enforce: Bool = true) -> Self { .init { $0.enforceAppCheck = enforce } }

    /// Uses an App Check token up: where it comes a second time, ``AppCheckData/alreadyConsumed`` is true and the
    /// function decides. A host remembers a token until it expires or the host ends.
    public static func consumeAppCheckToken(_ consume: Bool = true) -> Self {
        .init { $0.consumeAppCheckToken = consume }
    }

    /// How often a silent stream shows that it lives, to the second. Default 30 s; nil never.
    public static func heartbeat(_ interval: Duration?) -> Self { .init { $0.heartbeat = interval } }

    /// Answers 403 PERMISSION_DENIED where this is false for the caller, before the handler runs.
    public static func authPolicy(_ policy: @escaping @Sendable (AuthData?) -> Bool) -> Self {
        .init { $0.authPolicy = policy }
    }
}

extension FunctionOption where Kind == FunctionKind.HTTP {
    /// Which origins' pages may call. Default: none.
    public static func cors(_ cors: CORS) -> Self { .init { $0.cors = cors.policy } }
}

extension FunctionOption where Kind == FunctionKind.Schedule {
    /// The zone whose wall clock the schedule means, such as `Asia/Tokyo`. Default UTC.
    public static func timeZone(_ identifier: String) -> Self { .init { $0.timeZone = identifier } }

    /// How a failed run is tried again. Default: not.
    public static func retry(_ retry: ScheduleRetry) -> Self { .init { $0.scheduleRetry = retry } }

    /// What becomes of runs that were due while the host was down, the function paused, or the run before going on.
    /// Default: once.
    public static func missedRuns(_ missedRuns: MissedRuns) -> Self { .init { $0.missedRuns = missedRuns } }

    /// Whether a run may begin while the one before goes on or waits for its next try. Default false: it is missed then.
    public static func overlap(_ overlaps: Bool = true) -> Self { .init { $0.overlaps = overlaps } }
}
