import CommitPipeline
import DocumentModel
import DocumentStore
@testable import EventDispatch
import Workers
import Synchronization

/// Handlers that start and end when the test says so.
final class ScriptedLauncher: DeliveryLauncher {
    private struct State {
        var starts: [DeliveryStart] = []
        var waiting: [CheckedContinuation<DeliveryStart, Never>] = []
        var running = 0
        var mostAtOnce = 0
        var count = 0
    }

    private let gate: FunctionGate
    private let state = Mutex(State())
    /// Whether handlers begin with their launch, or wait for a process that doesn't come.
    private let startsHandlers: Bool

    init(_ gate: FunctionGate, startsHandlers: Bool = true) {
        self.gate = gate
        self.startsHandlers = startsHandlers
    }

    /// Admits each as ``ServedFunction/admit(user:address:for:on:_:)`` does.
    func launch(_ starts: [DeliveryStart]) {
        for start in starts {
            guard gate.admit() == nil else {
                start.onEnd(.refused, AttemptExecution())
                continue
            }
            if startsHandlers { start.onStart() }
            let waiter: CheckedContinuation<DeliveryStart, Never>? = state.withLock { state in
                state.count += 1
                state.running += 1
                state.mostAtOnce = max(state.mostAtOnce, state.running)
                guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
                state.starts.append(start)
                return nil
            }
            waiter?.resume(returning: start)
        }
    }

    /// The next handler that starts.
    func next() async -> DeliveryStart {
        await withCheckedContinuation { continuation in
            let start: DeliveryStart? = state.withLock { state in
                guard state.starts.isEmpty else { return state.starts.removeFirst() }
                state.waiting.append(continuation)
                return nil
            }
            if let start { continuation.resume(returning: start) }
        }
    }

    /// Ends a handler that runs.
    func end(_ start: DeliveryStart, _ end: AttemptEnd = .succeeded) {
        state.withLock { $0.running -= 1 }
        if case .notStarted = end { gate.refund() }
        start.onEnd(end, AttemptExecution())
    }

    /// How many were ever started, and how many at once at most.
    var count: Int { state.withLock { $0.count } }
    var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }
}

extension DeliveryStart {
    var id: DeliveryID { stored.delivery.id }

    /// The last segment of the document that changed, or the task's name.
    var subject: String {
        get throws {
            switch try Event(decoding: stored.event).content {
            case .document(let path, _, _): String(path.segments.last ?? "")
            case .task(let task): task.name ?? ""
            case .schedule(let job, _): job
            case .custom(let event): event.subject ?? ""
            case .reference(let change): change.path
            }
        }
    }
}
