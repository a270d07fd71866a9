import DocumentModel
import Logging
import NIOCore
import Synchronization
import WorkerProtocol

/// One run of the handler in this process: its task, and the responses that it waits for.
final class WorkerInvocation: HandlerResultReceiver {
    private struct State {
        var task: Task<Void, Never>?
        var isCancelled = false
        var phase: Phase
        var nextOperation: UInt32 = 0
        /// Whether an earlier call may have done its work.
        var hasKey = false
        /// Whether the host has ended the invocation, with the response that was committed.
        var isCommitted = false
        var operations: [UInt32: CheckedContinuation<[UInt8], Never>] = [:]
    }

    private enum Phase {
        /// No thread was free for the handler yet.
        case waiting(body: ByteBuffer)
        case running
        /// The host has recalled the invocation before its handler started, so the handler won't start.
        case recalled
        /// The handler has returned. The host sends no further responses.
        case over
    }

    private let id: UInt64
    private let database: DatabaseID
    private let writer: LinkWriter
    private let state: Mutex<State>
    let response: ResponseStream

    init(id: UInt64, body: ByteBuffer, database: DatabaseID, writer: LinkWriter) {
        self.id = id
        self.database = database
        self.writer = writer
        state = Mutex(State(phase: .waiting(body: body)))
        response = ResponseStream(of: id, to: writer)
    }

    /// Runs the handler and sends its result.
    func start(
        _ function: Function, head: InvocationHead, body: ByteBuffer, onEnd: @escaping @Sendable () -> Void
    ) {
        if head.hasHostedKey { state.withLock { $0.hasKey = true } }
        let logger = Logger(label: function.name) { InvocationLogHandler(label: $0, invocation: self) }
        let context = InvocationContext(
            head: head, body: body, deadline: .now + .milliseconds(Int64(head.timeLeft)),
            transport: LinkTransport(invocation: self, database: database), logger: logger,
            sendChunk: { [response] in try await response.send(chunk: $0) },
            writeBody: { [response] in try await response.write($0) })
        let task = Task {
            guard self.begin() else { return }
            await InvocationContext.$current.withValue(context) { await HandlerRun.run(function, context, self) }
            self.finish()
            onEnd()
        }
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
        response.cancel()
    }

    /// Starts the handler, unless the invocation was recalled.
    func begin() -> Bool {
        state.withLock { state in
            guard case .waiting = state.phase else { return false }
            state.phase = .running
            return true
        }
    }

    /// Prevents the handler from starting, if it hasn't started.
    /// - Returns: The body of the invocation; nil if the handler has started.
    func recall() -> ByteBuffer? {
        state.withLock { state in
            guard case .waiting(let body) = state.phase else { return nil }
            state.phase = .recalled
            return body
        }
    }

    /// Cancels the waits of work that the handler has left running.
    private func finish() {
        let operations = state.withLock { state in
            state.phase = .over
            defer { state.operations = [:] }
            return state.operations.values
        }
        for operation in operations { operation.resume(returning: Self.refusal(.cancelled, Self.overMessage)) }
    }

    private static let overMessage = "the invocation is over; await what it starts before it returns"

    private static func refusal(_ code: StatusCode, _ message: String) -> [UInt8] {
        DocumentResponse.failed(DocumentError(code, message)).encoded
    }

    // MARK: The handler's result

    func send(_ head: HTTPAnswerHead) { response.send(head) }

    func end(_ body: [UInt8]) { if !isCommitted { response.end(body) } }

    func fail(_ failure: InvocationFailure, _ error: any Error) { if !isCommitted { response.fail(failure) } }

    private var isCommitted: Bool { state.withLock { $0.isCommitted } }

    /// The handler's work as a whole is committed.
    func committed() { state.withLock { $0.isCommitted = true } }

    // MARK: Responses that the handler waits for

    var hasKey: Bool { state.withLock { $0.hasKey } }

    func perform(_ request: DocumentRequest) async -> [UInt8] {
        if case .claim = request { state.withLock { $0.hasKey = true } }
        await writer.waitForRoom()
        let bytes = request.encoded
        guard bytes.count <= DocumentRequest.maxBytes else {
            return DocumentResponse.failed(DocumentRequest.tooLarge(bytes.count)).encoded
        }
        let number = state.withLock { state in
            state.nextOperation += 1
            return state.nextOperation
        }
        guard DocumentRequest.purpose(of: bytes) == .wait else { return await perform(number, bytes) }
        // Nothing else would end it before something happens.
        return await withTaskCancellationHandler {
            await perform(number, bytes)
        } onCancel: {
            giveUp(number)
        }
    }

    private func perform(_ number: UInt32, _ bytes: [UInt8]) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if case .over = state.phase { return true }
                state.operations[number] = continuation
                return false
            }
            guard !isOver else { return continuation.resume(returning: Self.refusal(.cancelled, Self.overMessage)) }
            writer.send(.documentRequest, invocation: id) {
                $0.writeInteger(number)
                $0.writeBytes(bytes)
            }
            // It may have been cancelled before it could be given up.
            if Task.isCancelled, DocumentRequest.purpose(of: bytes) == .wait { giveUp(number) }
        }
    }

    /// Its task was cancelled. An answer that still comes is dropped.
    private func giveUp(_ number: UInt32) {
        state.withLock { $0.operations.removeValue(forKey: number) }?
            .resume(returning: Self.refusal(.cancelled, "the task that waited was cancelled"))
    }

    func receive(_ number: UInt32, _ response: [UInt8]) {
        state.withLock { $0.operations.removeValue(forKey: number) }?.resume(returning: response)
    }

    func log(_ line: LogLine) { writer.sendLog(line, invocation: id) }
}

/// Document operations over an invocation's link.
struct LinkTransport: DocumentTransport {
    let invocation: WorkerInvocation
    let database: DatabaseID

    var beginsWithReads: Bool { !invocation.hasKey }

    func send(_ request: DocumentRequest) async throws(DocumentError) -> DocumentResponse {
        let bytes = await invocation.perform(request)
        let response: DocumentResponse
        do {
            response = try DocumentResponse(decoding: bytes)
        } catch {
            throw DocumentError(.internal, "the host's response to a document operation is malformed: \(error)")
        }
        switch response {
        case .failed(let error): throw error
        case .committed where request.completing != nil: invocation.committed()
        default: break
        }
        return response
    }
}
