public import Logging
import WorkerProtocol

/// The context of a handler: its invocation, and the documents.
public struct FunctionContext: Sendable {
    package let invocation: InvocationContext

    package init(_ invocation: InvocationContext) { self.invocation = invocation }

    /// The id of this invocation, as in the log. Each attempt for an event is a separate invocation.
    public var executionID: String { invocation.head.executionID }

    /// When the invocation ends, and the handler's task is cancelled.
    public var deadline: ContinuousClock.Instant { invocation.deadline }

    /// Whether the handler should stop: the deadline has passed, the client has disconnected or the host is stopping.
    public var isCancelled: Bool { Task.isCancelled }

    /// A logger that adds the function and the execution id to each line.
    public var logger: Logger { invocation.logger }

    /// The documents, with admin access: security rules don't apply to functions.
    public var firestore: Firestore { Firestore(transport: invocation.transport) }
}

/// The input of a handler: a request or an event. It gives access to the invocation's context.
public protocol FunctionInput: Sendable {
    var context: FunctionContext { get }
}

extension FunctionInput {
    /// The id of this invocation, as in the log. Each attempt for an event is a separate invocation.
    public var executionID: String { context.executionID }

    /// When the invocation ends, and the handler's task is cancelled. A caller gets DEADLINE_EXCEEDED then.
    public var deadline: ContinuousClock.Instant { context.deadline }

    /// Whether the handler should stop: the deadline has passed, the client has disconnected or the host is stopping.
    public var isCancelled: Bool { context.isCancelled }

    /// A logger that adds the function and the execution id to each line.
    public var logger: Logger { context.logger }

    /// The documents, with admin access: security rules don't apply to functions.
    public var firestore: Firestore { context.firestore }
}
