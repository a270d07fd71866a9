package import FunctionManifest

/// How an event whose handler fails is tried again.
public struct EventRetry: Sendable {
    package let manifest: EventRetryManifest?

    /// Not at all: the event is dropped, which is logged and counted.
    public static let never = EventRetry(manifest: nil)

    /// With pauses that double, until the event is too old or was tried often enough. Then it is kept among the dead
    /// letters, for the operator.
    ///
    /// - Parameters:
    ///   - first: the first pause.
    ///   - longest: the pause that is doubled no more.
    ///   - age: counted from the event, to the second; 1 s to 7 days.
    ///   - attempts: tries in all, the first one included; nil for as many as the age allows.
    public static func exponential(
        from first: Duration = .seconds(10), to longest: Duration = .seconds(600),
        for age: Duration = .seconds(86_400), attempts: Int? = nil
    ) -> EventRetry {
        EventRetry(
            manifest: EventRetryManifest(
                minBackoffSeconds: first.seconds, maxBackoffSeconds: longest.seconds,
                maxAgeSeconds: Int(clamping: age.components.seconds), maxAttempts: attempts))
    }
}

/// In which order a trigger is told of changes.
public struct EventOrdering: Sendable, Hashable {
    package let isPerDocument: Bool

    /// In any, many at a time.
    public static let none = EventOrdering(isPerDocument: false)

    /// The changes of one document one at a time, in the order of their commits; those of different documents side by
    /// side. A change that fails holds up the later ones of its document, until it succeeds or is given up.
    public static let perDocument = EventOrdering(isPerDocument: true)
}

/// How a failed task is tried again.
public struct TaskRetry: Sendable, Hashable {
    /// Tries in all, the first one included; -1 for no bound.
    public var maxAttempts: Int
    /// The time in which to try, counted from the first try; 0 for no bound.
    public var maxRetrySeconds: Int
    public var minBackoffSeconds: Double
    public var maxBackoffSeconds: Double
    /// How often the pause doubles before it grows evenly.
    public var maxDoublings: Int

    public init(
        maxAttempts: Int = 3, maxRetrySeconds: Int = 0, minBackoffSeconds: Double = 0.1,
        maxBackoffSeconds: Double = 3600, maxDoublings: Int = 16
    ) {
        self.maxAttempts = maxAttempts
        self.maxRetrySeconds = maxRetrySeconds
        self.minBackoffSeconds = minBackoffSeconds
        self.maxBackoffSeconds = maxBackoffSeconds
        self.maxDoublings = maxDoublings
    }
}

extension FunctionOption where Kind: RetriedFunctionKind {
    /// Whether an event whose handler fails is tried again: from 10 s to 600 s apart, for 24 hours. Default false: the
    /// event is dropped.
    public static func retry(_ retry: Bool = true) -> Self { .retry(retry ? .exponential() : .never) }

    /// How an event whose handler fails is tried again, such as `.exponential(from: .seconds(1), attempts: 8)`.
    public static func retry(_ retry: EventRetry) -> Self { .init { $0.retry = retry.manifest } }
}

extension FunctionOption where Kind == FunctionKind.Document {
    /// In which order changes are handled. Default: any.
    public static func ordering(_ ordering: EventOrdering) -> Self { .init { $0.isOrdered = ordering.isPerDocument } }

    /// Gives events the type that tells who made the change: `google.cloud.firestore.document.v1.created.withAuthContext`
    /// and its kin. `auth` is there in any case.
    public static func withAuthContext() -> Self { .init { $0.hasAuthContext = true } }
}

extension FunctionOption where Kind == FunctionKind.TaskQueue {
    /// How a failed task is tried again. Default: three times in all, the pauses from 0.1 s on.
    public static func retry(_ retry: TaskRetry) -> Self { .init { $0.taskRetry = retry } }

    /// How fast the queue is worked off.
    ///
    /// - Parameters:
    ///   - maxConcurrentDispatches: tasks at a time, 1 to 5000. Default 1000.
    ///   - maxDispatchesPerSecond: more than 0, at most 500. Default 500.
    public static func rateLimits(
        maxConcurrentDispatches: Int = 1000, maxDispatchesPerSecond: Double = 500
    ) -> Self {
        .init {
            $0.maxConcurrentDispatches = maxConcurrentDispatches
            $0.maxDispatchesPerSecond = maxDispatchesPerSecond
        }
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
