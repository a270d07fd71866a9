public import Logging
import WorkerProtocol

/// What a handler has around it: its run, and the documents.
public struct FunctionContext: Sendable {
    package let invocation: InvocationContext

    package init(_ invocation: InvocationContext) { self.invocation = invocation }

    /// The id of this run, as in the log. Each try of an event is a run of its own.
    public var executionID: String { invocation.head.executionID }

    /// When the run is given up and the handler's task is cancelled.
    public var deadline: ContinuousClock.Instant { invocation.deadline }

    /// Whether the run should stop: the deadline has passed, the client has hung up or the host is stopping.
    public var isCancelled: Bool { Task.isCancelled }

    /// A logger whose lines carry the function and the execution id.
    public var logger: Logger { invocation.logger }

    /// The documents, as admin: rules don't apply to functions.
    public var firestore: Firestore { Firestore(transport: invocation.transport) }
}

/// What a handler is handed: a request or an event. All of them have what is around the run.
public protocol FunctionInput: Sendable {
    var context: FunctionContext { get }
}

extension FunctionInput {
    /// The id of this run, as in the log. Each try of an event is a run of its own.
    public var executionID: String { context.executionID }

    /// When the run is given up and the handler's task is cancelled. A caller is answered DEADLINE_EXCEEDED then.
    public var deadline: ContinuousClock.Instant { context.deadline }

    /// Whether the run should stop: the deadline has passed, the client has hung up or the host is stopping.
    public var isCancelled: Bool { context.isCancelled }

    /// A logger whose lines carry the function and the execution id.
    public var logger: Logger { context.logger }

    /// The documents, as admin: rules don't apply to functions.
    public var firestore: Firestore { context.firestore }
}
