import DocumentModel
import FunctionsRuntime
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
        guard run?.isOver != true else {
            throw DocumentError(.cancelled, "the invocation is over; await what it starts before it returns")
        }
        if case .settle = request, run?.refusal != nil {
            throw DocumentError(.cancelled, "the caller was answered before the handler returned")
        }
        var context = context
        if let run { context.completion = run.completionKey(for: request) }
        let response = await request.perform(on: backends, in: context)
        run?.note(response)
        switch response {
        case .failed(let error): throw error
        case .keyReused:
            run?.cancel(HttpsError(DocumentError.keyReused.code, DocumentError.keyReused.message))
            throw .keyReused
        default: return response
        }
    }
}
