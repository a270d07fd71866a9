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
            let status: HTTPResponse.Status
            let line: [UInt8]
            do {
                line = try ControlResponse.line(try await body(try ControlParameters(query: request.uri.query)))
                status = .ok
            } catch {
                line = DataWire.line(
                    error as? DocumentError ?? DocumentError(.internal, "the command failed: \(error)"))
                status = .badRequest
            }
            return Response(
                status: status, headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(bytes: line)))
        }
    }
}
