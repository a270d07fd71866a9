import DocumentModel
import FunctionsRuntime
import Synchronization
import WorkerProtocol

/// Sends document operations to a store in the same process.
struct StoreTransport: DocumentTransport {
    let backends: FunctionBackends
    let database: DatabaseID
    let clock: TesterClock
    /// The principal of the operations.
    let context: OperationContext
    /// The invocation that the operations belong to; nil for the test itself.
    var run: TestRun?

    var now: Timestamp { clock.now() }

    var beginsWithReads: Bool { run.map { !$0.hasKey } ?? true }

    func send(_ request: DocumentRequest) async throws(DocumentError) -> DocumentResponse {
        guard run?.isWanted != false else {
            throw DocumentError(
                .cancelled, "the invocation is over: its handler has returned or was cancelled; await what it starts")
        }
        if run != nil { try Self.checkBounds(of: request) }
        var context = context
        if let run { context.completion = run.completionKey(for: request) }
        let response = await perform(request, in: context)
        run?.note(response, to: request)
        switch response {
        case .failed(let error): throw error
        case .keyReused:
            run?.cancel(HttpsError(DocumentError.keyReused.code, DocumentError.keyReused.message))
            throw .keyReused
        default: return response
        }
    }

    /// As on a host, which refuses what is beyond the bounds of its link.
    private static func checkBounds(of request: DocumentRequest) throws(DocumentError) {
        do throws(BoundedRequest.Refusal) {
            _ = try BoundedRequest(request.encoded)
        } catch {
            switch error {
            case .beyondLimit(let refusal): throw refusal
            case .malformed(let failure): throw DocumentError(.internal, "an operation is malformed: \(failure)")
            }
        }
    }

    /// As in a worker: a wait for something that may never happen ends with its task.
    private func perform(_ request: DocumentRequest, in context: OperationContext) async -> DocumentResponse {
        guard case .database(let operation) = request, operation.operation.purpose == .wait else {
            return await request.perform(on: backends, in: context)
        }
        let answer = WaitedAnswer()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                answer.wait(continuation)
                request.perform(on: backends, in: context) { answer.end($0) }
            }
        } onCancel: {
            answer.end(.failed(DocumentError(.cancelled, "the task that waited was cancelled")))
        }
    }
}

/// The answer to an operation that waits, or why it isn't waited for any more. The first one counts.
private final class WaitedAnswer: Sendable {
    private enum State {
        case open
        case waiting(CheckedContinuation<DocumentResponse, Never>)
        case ended(DocumentResponse)
    }

    private let state = Mutex(State.open)

    func wait(_ continuation: CheckedContinuation<DocumentResponse, Never>) {
        let response = state.withLock { state -> DocumentResponse? in
            if case .ended(let response) = state { return response }
            state = .waiting(continuation)
            return nil
        }
        if let response { continuation.resume(returning: response) }
    }

    func end(_ response: DocumentResponse) {
        let continuation = state.withLock { state -> CheckedContinuation<DocumentResponse, Never>? in
            switch state {
            case .open:
                state = .ended(response)
                return nil
            case .waiting(let continuation):
                state = .ended(response)
                return continuation
            case .ended: return nil
            }
        }
        continuation?.resume(returning: response)
    }
}
