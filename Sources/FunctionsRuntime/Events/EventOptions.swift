/// The order in which a trigger handles changes.
public struct EventOrdering: Sendable, Hashable {
    package let isOrdered: Bool

    /// Any order, concurrently.
    public static let none = EventOrdering(isOrdered: false)

    /// The changes of one document one at a time, in commit order; those of different documents concurrently. A change
    /// that fails delays later changes of its document until it succeeds or is given up.
    public static let perDocument = EventOrdering(isOrdered: true)

    /// As ``perDocument``, for the nodes of the Realtime Database that the pattern matches.
    public static let perReference = EventOrdering(isOrdered: true)
}

extension FunctionOption where Kind == FunctionKind.Document {
    /// In which order changes are handled. Default: any.
    public static func ordering(_ ordering: EventOrdering) -> Self { .init { $0.isOrdered = ordering.isOrdered } }

    /// Selects the event types with auth context: `google.cloud.firestore.document.v1.created.withAuthContext` and so
    /// on. `auth` is available with either type.
    public static func withAuthContext() -> Self { .init { $0.hasAuthContext = true } }
}

extension FunctionOption where Kind == FunctionKind.Reference {
    /// In which order changes are handled. Default: any.
    public static func ordering(_ ordering: EventOrdering) -> Self { .init { $0.isOrdered = ordering.isOrdered } }

    /// The databases that the function is for: a name, in which `*` stands for any text. Default: all.
    public static func instance(_ name: String) -> Self { .init { $0.instance = name } }
}

extension FunctionOption where Kind == FunctionKind.TaskQueue {
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
