package import FunctionManifest

/// How an event whose handler fails is retried.
public struct EventRetry: Sendable {
    package let manifest: EventRetryManifest?

    /// No retries: the event is dropped, logged and counted.
    public static let never = EventRetry(manifest: nil)

    /// Exponential backoff, up to a maximum age or number of attempts. Then the delivery is dead-lettered.
    ///
    /// - Parameters:
    ///   - first: The first delay.
    ///   - longest: The maximum delay.
    ///   - age: The maximum age of the event, 1 s to 7 days, in whole seconds.
    ///   - attempts: The maximum number of attempts, including the first one; nil for no limit but the age.
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

/// The order in which a trigger handles changes.
public struct EventOrdering: Sendable, Hashable {
    package let isPerDocument: Bool

    /// Any order, concurrently.
    public static let none = EventOrdering(isPerDocument: false)

    /// The changes of one document one at a time, in commit order; those of different documents concurrently. A change
    /// that fails delays later changes of its document until it succeeds or is given up.
    public static let perDocument = EventOrdering(isPerDocument: true)
}

/// How a failed task is retried.
public struct TaskRetry: Sendable, Hashable {
    /// The maximum number of attempts, including the first one; -1 for no limit.
    public var maxAttempts: Int
    /// The time limit for attempts, counted from the first one; 0 for no limit.
    public var maxRetrySeconds: Int
    public var minBackoffSeconds: Double
    public var maxBackoffSeconds: Double
    /// How often the backoff doubles before it grows linearly.
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
    /// Whether an event whose handler fails is retried: with delays from 10 s to 600 s, for 24 hours. Default false:
    /// the event is dropped.
    public static func retry(_ retry: Bool = true) -> Self { .retry(retry ? .exponential() : .never) }

    /// How an event whose handler fails is retried, such as `.exponential(from: .seconds(1), attempts: 8)`.
    public static func retry(_ retry: EventRetry) -> Self { .init { $0.retry = retry.manifest } }
}

extension FunctionOption where Kind == FunctionKind.Document {
    /// In which order changes are handled. Default: any.
    public static func ordering(_ ordering: EventOrdering) -> Self { .init { $0.isOrdered = ordering.isPerDocument } }

    /// Selects the event types with auth context: `google.cloud.firestore.document.v1.created.withAuthContext` and so
    /// on. `auth` is available with either type.
    public static func withAuthContext() -> Self { .init { $0.hasAuthContext = true } }
}

extension FunctionOption where Kind == FunctionKind.TaskQueue {
    /// How a failed task is retried. Default: three attempts in total, with backoff starting at 0.1 s.
    public static func retry(_ retry: TaskRetry) -> Self { .init { $0.taskRetry = retry } }

    /// How fast the queue dispatches tasks.
    ///
    /// - Parameters:
    ///   - maxConcurrentDispatches: Concurrent tasks, 1 to 5000. Default 1000.
    ///   - maxDispatchesPerSecond: More than 0, at most 500. Default 500.
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
