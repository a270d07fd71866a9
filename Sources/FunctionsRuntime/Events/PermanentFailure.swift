/// An error of an event's handler that no other attempt can repair: the event is a dead letter at once.
///
/// ```swift
/// guard let customer = order.customer else {
///     throw PermanentFailure("The order has no customer.")
/// }
/// ```
///
/// It is thrown by handlers of changes of documents, values and users, of custom events, messages, tasks and schedules,
/// with or without ``FunctionOption/retry(_:)``. The dead letter keeps the message and the whole event for the operator. From a callable
/// or an HTTP function it is INTERNAL, as any error that isn't an ``HttpsError``.
public struct PermanentFailure: Error, Sendable, CustomStringConvertible {
    /// Why the event can't be handled, for the operator.
    public var message: String

    public init(_ message: String) { self.message = message }

    public var description: String { message }
}
