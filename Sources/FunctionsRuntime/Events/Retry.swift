import FunctionManifest

/// How an event, a task or a run of a schedule is attempted again after its handler has failed.
///
///     onDocumentCreated("index", document: "posts/{id}", .retry()) { … }
///     onTaskDispatched("mail", .retry(.attempts(10))) { … }
///     onSchedule("report", schedule: "every day 06:00", .retry(.exponential(from: .minutes(1), attempts: 4))) { … }
///
/// What isn't given depends on the kind of function:
///
/// | | without `.retry` | `from` | `to` | `for` | `attempts` | `doublings` |
/// |---|---|---|---|---|---|---|
/// | documents, values, users, custom events, messages | one attempt | 10 s | 600 s | 24 h | no limit | until `to` |
/// | tasks | three attempts | 0.1 s | 1 h | no limit | 3 | 16 |
/// | schedules | one attempt | 5 s | 1 h | no limit | 6, or no limit with `for` | 5 |
///
/// After the last failed attempt the delivery is dead-lettered. Without `.retry`, with ``never``, and for schedules with
/// one attempt, an event or a run is dropped instead.
public struct Retry: Sendable, Hashable {
    private enum Kind: Hashable { case never, exponential }

    private let kind: Kind
    private var first: Duration?
    private var longest: Duration?
    private var age: Duration?
    private var attempts: Int?
    private var doublings: Int?

    /// One attempt only, after which a task is dead-lettered, and an event or a run is dropped.
    public static let never = Retry(kind: .never)

    /// Delays that double from the first to the longest one.
    ///
    /// - Parameters:
    ///   - first: The delay before the second attempt; for schedules in whole seconds.
    ///   - longest: The maximum delay; for schedules in whole seconds.
    ///   - age: For how long there are attempts, in whole seconds: for events 1 s to 7 days, counted from the event; for
    ///     tasks and schedules counted from the first attempt.
    ///   - attempts: The maximum number of attempts, including the first one; `.max` for no limit. At most 6 for
    ///     schedules. A task or a run for which both this and `age` are given ends when both are reached.
    ///   - doublings: How often the delay doubles before it grows linearly. For tasks and schedules.
    public static func exponential(
        from first: Duration? = nil, to longest: Duration? = nil, for age: Duration? = nil, attempts: Int? = nil,
        doublings: Int? = nil
    ) -> Retry {
        Retry(
            kind: .exponential, first: first, longest: longest, age: age, attempts: attempts, doublings: doublings)
    }

    /// This many attempts, including the first one, with the kind's delays.
    public static func attempts(_ count: Int) -> Retry { .exponential(attempts: count) }
}

extension FunctionOption where Kind: RetriedFunctionKind {
    /// How an event, a task or a run is attempted again after its handler has failed; see ``Retry``.
    public static func retry(_ retry: Retry = .exponential()) -> Self { .init { $0.retry = retry } }
}

// MARK: In the manifest

extension Retry {
    /// Nil for one attempt.
    var ofEvents: EventRetryManifest? {
        guard kind == .exponential else { return nil }
        return EventRetryManifest(
            minBackoffSeconds: first?.inSeconds ?? 10,
            maxBackoffSeconds: longest?.inSeconds ?? max(first?.inSeconds ?? 0, 600),
            maxAgeSeconds: age?.wholeSeconds ?? 86_400, maxAttempts: attempts == .max ? nil : attempts)
    }

    /// Why it can't apply to a kind of function; nil if it can.
    func problem(of trigger: TriggerManifest) -> String? {
        switch trigger {
        case .document, .reference, .event:
            if doublings != nil { return "delays of retried events double until the longest one; leave doublings out" }
            return whole(("for", age))
        case .task: return whole(("for", age))
        case .schedule:
            if let attempts, !(1...6).contains(attempts) {
                return "a schedule's run has 1 to 6 attempts, not \(attempts)"
            }
            return whole(("from", first), ("to", longest), ("for", age))
        case .callable, .http, .blocking: return nil
        }
    }

    private func whole(_ durations: (name: String, value: Duration?)...) -> String? {
        durations.first { $0.value.map { $0.components.attoseconds != 0 } ?? false }.map {
            "\($0.name) is \($0.value ?? .zero); it must be whole seconds"
        }
    }

    func task(concurrency: Int, perSecond: Double) -> TriggerManifest.TaskTrigger {
        TriggerManifest.TaskTrigger(
            maxAttempts: kind == .never ? 1 : attempts == .max ? -1 : attempts ?? 3,
            maxRetrySeconds: age?.wholeSeconds ?? 0, minBackoffSeconds: first?.inSeconds ?? 0.1,
            maxBackoffSeconds: longest?.inSeconds ?? max(first?.inSeconds ?? 0, 3600), maxDoublings: doublings ?? 16,
            maxConcurrentDispatches: concurrency, maxDispatchesPerSecond: perSecond)
    }

    func schedule(_ schedule: String, _ options: FunctionOptions) -> TriggerManifest.ScheduleTrigger {
        TriggerManifest.ScheduleTrigger(
            schedule: schedule, timeZone: options.timeZone,
            retryCount: kind == .never ? 0 : attempts.map { $0 - 1 } ?? (age == nil ? 5 : 0),
            maxRetrySeconds: age?.wholeSeconds ?? 0, minBackoffSeconds: first?.wholeSeconds ?? 5,
            maxBackoffSeconds: longest?.wholeSeconds ?? max(first?.wholeSeconds ?? 0, 3600),
            maxDoublings: doublings ?? 5,
            missedRuns: options.missedRuns.manifest, overlaps: options.overlaps)
    }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
    fileprivate var wholeSeconds: Int { Int(clamping: components.seconds) }
}
