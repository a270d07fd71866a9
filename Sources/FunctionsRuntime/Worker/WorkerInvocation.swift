import DocumentModel
import Logging
import NIOCore
import Synchronization
import WorkerProtocol

/// One run of the handler in this process: its task, and what it waits for from the host.
final class WorkerInvocation: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isCancelled = false
        var phase: Phase
        var nextOperation: UInt32 = 0
        var operations: [UInt32: CheckedContinuation<[UInt8], Never>] = [:]
        /// Bytes of chunks that the host still takes; may go below zero by the last chunk.
        var credit = Frame.initialCredit
        var waitingForCredit: [CheckedContinuation<Void, Never>] = []
    }

    private enum Phase {
        /// No thread was free for the handler yet.
        case waiting(body: ByteBuffer)
        case running
        /// The host has taken it back before its handler began, which it never will.
        case recalled
        /// The handler has returned. The host answers nothing any more.
        case over
    }

    private let id: UInt64
    private let database: DatabaseID
    private let writer: LinkWriter
    private let state: Mutex<State>

    init(id: UInt64, body: ByteBuffer, database: DatabaseID, writer: LinkWriter) {
        self.id = id
        self.database = database
        self.writer = writer
        state = Mutex(State(phase: .waiting(body: body)))
    }

    /// Runs the handler and sends what comes of it.
    func start(
        _ function: Function, head: InvocationHead, body: ByteBuffer, onEnd: @escaping @Sendable () -> Void
    ) {
        let logger = Logger(label: function.name) { InvocationLogHandler(label: $0, invocation: self) }
        let context = InvocationContext(
            head: head, body: body, deadline: .now + .milliseconds(Int64(head.timeLeft)),
            transport: LinkTransport(invocation: self, database: database), logger: logger,
            sendChunk: { [self] in try await sendChunk($0) })
        let task = Task {
            guard self.begin() else { return }
            await InvocationContext.$current.withValue(context) { await self.run(function, context) }
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
        let (task, waiting) = state.withLock { state in
            state.isCancelled = true
            defer { state.waitingForCredit = [] }
            return (state.task, state.waitingForCredit)
        }
        task?.cancel()
        for continuation in waiting { continuation.resume() }
    }

    /// The handler begins, unless the invocation was taken back.
    func begin() -> Bool {
        state.withLock { state in
            guard case .waiting = state.phase else { return false }
            state.phase = .running
            return true
        }
    }

    /// Keeps the handler from beginning, where it hasn't begun.
    /// - Returns: the body that came with the invocation; nil where the handler has begun.
    func recall() -> ByteBuffer? {
        state.withLock { state in
            guard case .waiting(let body) = state.phase else { return nil }
            state.phase = .recalled
            return body
        }
    }

    /// Whatever the handler has left running waits for nothing any more.
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

    private func run(_ function: Function, _ context: InvocationContext) async {
        do {
            switch function.handler {
            case .callable(let handler):
                try send(answer: try await handler.run(context))
            case .http(let handler):
                try await send(try await handler(HTTPRequest(context: context)), context)
            case .event(let handler):
                try await handler.run(context)
                writer.send(.result, invocation: id)
            }
        } catch {
            let isEvent = if case .event = function.handler { true } else { false }
            send(isEvent ? InvocationFailure(ofEvent: error) : InvocationFailure(error), of: error, context)
        }
    }

    /// An answer that can't be sent: the author's mistake, so it is logged and the caller is told INTERNAL.
    private struct UnsendableAnswer: Error, CustomStringConvertible {
        var description: String
    }

    private func send(answer: [UInt8]) throws {
        guard answer.count <= Frame.maxAnswer else {
            throw UnsendableAnswer(description: "the answer has \(answer.count) bytes; the limit is 32 MiB")
        }
        writer.send(.result, invocation: id) { $0.writeBytes(answer) }
    }

    /// The store's own limit on a request is told in its terms; this keeps a frame within its bound.
    private static let maxOperation = 15 * 1024 * 1024

    private func send(_ response: HTTPResponse, _ context: InvocationContext) async throws {
        guard (200...599).contains(response.status) else {
            throw UnsendableAnswer(description: "\(response.status) is no status from 200 to 599")
        }
        let head = HTTPAnswerHead(status: UInt16(clamping: response.status), headers: response.headers.block)
        switch response.body {
        case .bytes(let body):
            guard body.count <= Frame.maxAnswer else {
                throw UnsendableAnswer(
                    description: "the answer has \(body.count) bytes; stream what is over 32 MiB")
            }
            writer.send(.httpHead, invocation: id) { head.write(to: &$0) }
            writer.send(.result, invocation: id) { $0.writeBytes(body) }
        case .stream(let body):
            writer.send(.httpHead, invocation: id) { head.write(to: &$0) }
            try await body(HTTPBodyWriter(context: context))
            writer.send(.result, invocation: id)
        }
    }

    private func send(_ failure: InvocationFailure, of error: any Error, _ context: InvocationContext) {
        var failure = failure
        let size = failure.message.utf8.count + (failure.details?.readableBytes ?? 0)
        if size > Frame.maxAnswer {
            context.logger.error("an error can't be sent", metadata: ["error.bytes": "\(size)"])
            failure = InvocationFailure(code: .internal, message: "INTERNAL")
        }
        if failure.code == .internal {
            context.logger.error(
                "the handler failed", metadata: ["error.type": "\(type(of: error))", "error.message": "\(error)"])
        }
        writer.send(.failure, invocation: id) { failure.write(to: &$0) }
    }

    // MARK: What the handler waits for

    func perform(_ request: DocumentRequest) async -> [UInt8] {
        let bytes = request.encoded
        guard bytes.count <= Self.maxOperation else {
            return Self.refusal(.invalidArgument, "a request has \(bytes.count) bytes, more than 10 MiB, the limit")
        }
        return await withCheckedContinuation { continuation in
            let number: UInt32? = state.withLock { state in
                if case .over = state.phase { return nil }
                state.nextOperation += 1
                state.operations[state.nextOperation] = continuation
                return state.nextOperation
            }
            guard let number else { return continuation.resume(returning: Self.refusal(.cancelled, Self.overMessage)) }
            writer.send(.documentRequest, invocation: id) {
                $0.writeInteger(number)
                $0.writeBytes(bytes)
            }
        }
    }

    func receive(_ number: UInt32, _ response: [UInt8]) {
        state.withLock { $0.operations.removeValue(forKey: number) }?.resume(returning: response)
    }

    private func sendChunk(_ chunk: ByteBuffer) async throws {
        guard chunk.readableBytes <= Frame.maxChunk else {
            throw UnsendableAnswer(
                description: "a chunk has \(chunk.readableBytes) bytes; the limit is 10 MiB")
        }
        while true {
            try Task.checkCancellation()
            let mayGo = state.withLock { state in
                guard state.credit > 0 else { return false }
                state.credit -= chunk.readableBytes
                return true
            }
            if mayGo { break }
            await withCheckedContinuation { continuation in
                let resumeNow = state.withLock { state in
                    guard state.credit <= 0, !state.isCancelled else { return true }
                    state.waitingForCredit.append(continuation)
                    return false
                }
                if resumeNow { continuation.resume() }
            }
        }
        writer.send(.chunk, invocation: id) { $0.writeImmutableBuffer(chunk) }
    }

    func receiveCredit(_ bytes: Int) {
        let waiting = state.withLock { state in
            state.credit += bytes
            guard state.credit > 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waitingForCredit = [] }
            return state.waitingForCredit
        }
        for continuation in waiting { continuation.resume() }
    }

    func log(_ line: LogLine) { writer.sendLog(line, invocation: id) }
}
