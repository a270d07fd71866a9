import ControlProtocol
import DocumentModel
import HTTPTypes
import Hummingbird
import NIOCore

extension RouterGroup where Context == BasicRequestContext {
    /// Adds the route of a verb, such as `schedules/list`.
    ///
    /// - Parameter body: returns the result. A `DocumentError` that it throws is sent to the command unchanged, any
    ///   other error as `internal`.
    func answer<Answer: Encodable & Sendable>(
        _ path: RouterPath, _ body: @escaping @Sendable (ControlParameters) async throws -> Answer
    ) {
        post(path) { request, _ in
            await Self.response { try await body(try ControlParameters(query: request.uri.query)) }
        }
    }

    /// Adds the route of a verb whose request has a body.
    ///
    /// - Parameters:
    ///   - maxBody: the largest body in bytes; a larger one is answered with `invalidArgument`.
    ///   - body: returns the result for the request's body.
    func answer<Answer: Encodable & Sendable>(
        _ path: RouterPath, maxBody: Int, _ body: @escaping @Sendable ([UInt8]) async throws -> Answer
    ) {
        post(path) { request, _ in
            await Self.response {
                let buffer: ByteBuffer
                do { buffer = try await request.body.collect(upTo: maxBody) } catch {
                    throw DocumentError.invalidArgument(
                        "the request can't be read, or has more than \(maxBody >> 20) MiB: \(error)")
                }
                return try await body(Array(buffer.readableBytesView))
            }
        }
    }

    /// Adds the route of a verb whose request has its parameters in the body, because they may be as long as files.
    ///
    /// - Parameter body: as that of the other ones.
    func answerWithFiles<Answer: Encodable & Sendable>(
        _ path: RouterPath, _ body: @escaping @Sendable (ControlParameters) async throws -> Answer
    ) {
        answer(path, maxBody: 64 << 20) { try await body(try ControlParameters(body: $0)) }
    }

    private static func response(_ answer: () async throws -> some Encodable & Sendable) async -> Response {
        let status: HTTPResponse.Status
        let line: [UInt8]
        do {
            line = try ControlResponse.line(try await answer())
            status = .ok
        } catch {
            line = DataWire.line(error as? DocumentError ?? DocumentError(.internal, "the command failed: \(error)"))
            status = .badRequest
        }
        return Response(
            status: status, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: line)))
    }
}
