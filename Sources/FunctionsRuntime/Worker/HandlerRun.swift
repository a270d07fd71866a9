import Logging
import NIOCore
package import WorkerProtocol

/// Receives the handler's result: a worker sends it to its host, a test stores it.
package protocol HandlerResultReceiver: Sendable {
    /// The head of an HTTP function's response. The body or its chunks follow.
    func send(_ head: HTTPAnswerHead)
    /// The result, or the end of a streamed response.
    func end(_ body: [UInt8])
    /// - Parameter error: What the handler threw. It isn't sent to callers.
    func fail(_ failure: InvocationFailure, _ error: any Error)
}

/// Runs a handler for an invocation, in a worker and in a test.
package enum HandlerRun {
    /// Runs the function's handler and passes on its result. A result that can't be sent is a mistake of the author: it
    /// is logged, and the caller gets INTERNAL. What an event's handler throws is logged by the host, with what follows
    /// from it.
    package static func run(_ function: Function, _ context: InvocationContext, _ answer: some HandlerResultReceiver)
        async
    {
        do {
            switch function.handler {
            case .callable(let handler):
                answer.end(try await handler.run(context))
            case .http(let handler):
                try await send(try await handler(HTTPRequest(context: context)), context, answer)
            case .event(let handler):
                try await handler.run(context)
                answer.end([])
            }
        } catch {
            let isEvent = if case .event = function.handler { true } else { false }
            var failure =
                isEvent
                ? InvocationFailure(ofEvent: error) : InvocationFailure(error, isCancelled: Task.isCancelled)
            let size = failure.message.utf8.count + (failure.details?.readableBytes ?? 0)
            if size > InvocationFailure.maxBytes {
                context.logger.error("an error is too large to be sent", metadata: ["error.bytes": "\(size)"])
                if isEvent {
                    // Its message is short, and the host has to know whether another attempt makes sense.
                    failure.details = nil
                } else {
                    failure = InvocationFailure(code: .internal, message: "INTERNAL")
                }
            }
            if failure.code == .internal, !isEvent {
                context.logger.error(
                    "the handler failed", metadata: ["error.type": "\(type(of: error))", "error.message": "\(error)"])
            }
            answer.fail(failure, error)
        }
    }

    private struct UnsendableResult: Error, CustomStringConvertible {
        var description: String
    }

    /// - Throws: if the body is larger than a frame may be.
    static func bounded(_ body: [UInt8], _ advice: String) throws -> [UInt8] {
        guard body.count <= Frame.maxAnswer else {
            throw UnsendableResult(description: "the answer has \(body.count) bytes; \(advice) 32 MiB")
        }
        return body
    }

    private static func send(
        _ response: HTTPResponse, _ context: InvocationContext, _ answer: some HandlerResultReceiver
    ) async throws {
        guard (200...599).contains(response.status) else {
            throw UnsendableResult(description: "\(response.status) isn't a status from 200 to 599")
        }
        for (name, value) in response.headers where !HTTPText.isField(name, value) {
            context.logger.warning(
                "a header isn't sent: it has characters that headers can't have", metadata: ["header.name": "\(name)"])
        }
        let head = HTTPAnswerHead(status: UInt16(clamping: response.status), headers: response.headers.block)
        let headerBytes = head.headers.encoded.readableBytes
        guard headerBytes <= HTTPAnswerHead.maxHeaderBytes else {
            throw UnsendableResult(description: "the headers have \(headerBytes) bytes; the limit is 256 KiB")
        }
        switch response.body {
        case .bytes(let body):
            let body = try bounded(body, "stream larger bodies than")
            answer.send(head)
            answer.end(body)
        case .stream(let body):
            answer.send(head)
            // A client that asks for the head alone takes any amount at once.
            if context.head.method != "HEAD" { try await body(HTTPBodyWriter(context.writeBody)) }
            answer.end([])
        }
    }
}

/// A chunk that exceeds the size limit.
package struct OversizedChunk: Error, CustomStringConvertible {
    private let bytes: Int

    package init(bytes: Int) { self.bytes = bytes }

    package var description: String { "a chunk has \(bytes) bytes; the limit is 10 MiB" }
}
