import ControlProtocol
import DocumentModel
import HTTPTypes
import Hummingbird
import NIOCore

extension RouterGroup where Context == BasicRequestContext {
    /// Answers a verb of a topic, such as `schedules/list`.
    ///
    /// - Parameter body: what it throws is told to the command: a `DocumentError` as it is.
    func answer<Answer: Encodable & Sendable>(
        _ path: RouterPath, _ body: @escaping @Sendable (ControlParameters) async throws -> Answer
    ) {
        post(path) { request, _ in
            let status: HTTPResponse.Status
            let line: [UInt8]
            do {
                line = try ControlResponse.line(try await body(try ControlParameters(query: request.uri.query)))
                status = .ok
            } catch {
                line = DataWire.line(error as? DocumentError ?? DocumentError(.internal, "it failed: \(error)"))
                status = .badRequest
            }
            return Response(
                status: status, headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(bytes: line)))
        }
    }
}
