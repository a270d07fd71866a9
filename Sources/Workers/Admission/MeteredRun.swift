import DocumentModel
package import WorkerProtocol
package import NIOCore

/// Counts how long the handler of a request runs, for a function that has a budget.
package final class MeteredRun: InvocationObserver {
    private let gate: FunctionGate
    private let eventLoop: any EventLoop
    private var startedAt: NIODeadline?

    package init(_ gate: FunctionGate, on eventLoop: any EventLoop) {
        self.gate = gate
        self.eventLoop = eventLoop
    }

    package func invocationStarted() { startedAt = eventLoop.now }

    package func invocationOver(_ end: HandlerEnd) {
        if let startedAt { gate.spent(microseconds: (eventLoop.now - startedAt).nanoseconds / 1000) }
    }
}

extension InvocationFailure {
    /// What a caller is told of a function that takes no calls.
    package static func refused(_ refusal: FunctionGate.Refusal, _ function: String) -> InvocationFailure {
        let reason =
            switch refusal {
            case .paused: "is paused"
            case .budgetUsedUp: "has used up its budget for today"
            }
        return InvocationFailure(code: .unavailable, message: "\(function) \(reason).")
    }
}
