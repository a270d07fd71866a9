import DocumentModel
import FunctionsRuntime
import WorkerProtocol
import Synchronization

/// One run of a handler in a test.
final class TestRun: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isCancelled = false
        var refusal: HttpsError?
        var isOver = false
        var key: CompletionKey?
        /// Whether it does work that was claimed under an idempotency key, or is being claimed.
        var holdsClaim = false
    }

    let function: String
    private let isTransactional: Bool
    /// By the test's clock.
    let deadline: Timestamp
    private let state = Mutex(State())

    init(_ function: Function, key: CompletionKey?, deadline: Timestamp) {
        self.function = function.name
        self.isTransactional = function.handler.isTransactional
        self.deadline = deadline
        state.withLock { $0.key = key }
    }

    /// Whether an earlier call may have done the work.
    var hasKey: Bool { state.withLock { !($0.key?.key.isEmpty ?? true) } }

    /// The key that an operation is performed under, which begins now.
    func completionKey(for request: DocumentRequest) -> CompletionKey? {
        state.withLock { state in
            if case .claim = request { state.holdsClaim = true }
            return request.completionKey(&state.key, isTransactional: isTransactional)
        }
    }

    func note(_ response: DocumentResponse, to request: DocumentRequest) {
        state.withLock { state in
            if case .claim = request { state.holdsClaim = false }
            switch response {
            case .claimed: state.holdsClaim = true
            case .settled: state.holdsClaim = false
            default: break
            }
        }
    }

    /// The error that the caller gets regardless of the handler's result: the deadline passed before the handler
    /// returned, or the invocation has failed otherwise.
    var refusal: HttpsError? { state.withLock { $0.refusal } }

    /// Whether the caller still waits for what the handler does. Otherwise its operations and chunks are refused, as on
    /// a host, also those of work that it has left running.
    var isWanted: Bool { state.withLock { !$0.isOver && !$0.isCancelled } }

    func began(_ task: Task<Void, Never>) {
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    func end() { state.withLock { $0.isOver = true } }

    func cancel(_ refusal: HttpsError? = nil) {
        let task: Task<Void, Never>? = state.withLock { state in
            // Work under an idempotency key goes on when its client has left.
            guard !state.isOver, refusal != nil || !state.holdsClaim else { return nil }
            state.isCancelled = true
            if state.refusal == nil { state.refusal = refusal }
            return state.task
        }
        task?.cancel()
    }
}

/// The running invocations, and the tests that wait for one.
final class TestInvocations: Sendable {
    private struct State {
        var count = 0
        var running: [ObjectIdentifier: TestRun] = [:]
        var waiting: [Int: (function: String, continuation: CheckedContinuation<Void, Never>)] = [:]
    }

    private let state = Mutex(State())

    /// A number for each run or wait.
    func next() -> Int {
        state.withLock { state in
            state.count += 1
            return state.count
        }
    }

    /// The handler is about to start.
    func begin(_ run: TestRun) {
        let waiting = state.withLock { state in
            state.running[ObjectIdentifier(run)] = run
            let numbers = state.waiting.filter { $0.value.function == run.function }.keys
            return numbers.compactMap { state.waiting.removeValue(forKey: $0)?.continuation }
        }
        for continuation in waiting { continuation.resume() }
    }

    func end(_ run: TestRun) {
        run.end()
        state.withLock { state in _ = state.running.removeValue(forKey: ObjectIdentifier(run)) }
    }

    /// Cancels invocations whose deadline has passed.
    func expire(at now: Timestamp) {
        let late = state.withLock { $0.running.values.filter { $0.deadline <= now } }
        for run in late { run.cancel(HttpsError(.deadlineExceeded, "DEADLINE_EXCEEDED")) }
    }

    /// Returns once a handler of the function is running, or the task is cancelled.
    func wait(for function: String) async {
        let number = next()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    guard !Task.isCancelled, !state.running.values.contains(where: { $0.function == function }) else {
                        return true
                    }
                    state.waiting[number] = (function, continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.continuation.resume()
        }
    }
}
