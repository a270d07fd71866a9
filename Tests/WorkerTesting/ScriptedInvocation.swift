package import DocumentModel
package import NIOCore
package import WorkerProtocol

/// An invocation as a worker sees it, and what the worker answers.
package final class ScriptedInvocation {
    package let id: UInt64
    package let head: InvocationHead
    package let body: ByteBuffer
    package unowned let worker: ScriptedWorker
    /// Why the host has asked its handler to stop; nil if it hasn't.
    package internal(set) var cancellation: CancellationReason?
    /// Whether the host has asked for it back.
    package internal(set) var isRecalled = false
    /// Bytes that the client has taken of what was streamed, as the host reports it.
    package internal(set) var credit = 0
    /// The host's answers to document operations, by number.
    package internal(set) var responses: [UInt32: [UInt8]] = [:]

    init(_ id: UInt64, _ head: InvocationHead, body: ByteBuffer, worker: ScriptedWorker) {
        self.id = id
        self.head = head
        self.body = body
        self.worker = worker
    }

    package var text: String { String(buffer: body) }

    /// The handler returns.
    package func end(_ result: String) { worker.send(.result, id) { $0.writeString(result) } }

    package func fail(_ code: StatusCode, _ message: String, details: String? = nil, isPermanent: Bool = false) {
        let failure = InvocationFailure(
            code: code, message: message, details: details.map { ByteBuffer(string: $0) }, isPermanent: isPermanent)
        worker.send(.failure, id) { failure.write(to: &$0) }
    }

    package func send(chunk: String) { worker.send(.chunk, id) { $0.writeString(chunk) } }

    package func send(status: UInt16, _ headers: [(name: String, value: String)] = []) {
        worker.send(.httpHead, id) { HTTPAnswerHead(status: status, headers: HeaderBlock(headers)).write(to: &$0) }
    }

    /// Hands the invocation back before its handler has begun.
    package func returnToHost() { worker.send(.recalled, id) { $0.writeImmutableBuffer(body) } }

    package func request(_ request: DocumentRequest, number: UInt32 = 1) {
        worker.send(.documentRequest, id) {
            $0.writeInteger(number)
            $0.writeBytes(request.encoded)
        }
    }
}
