import DocumentModel
import Foundation
package import Hummingbird
import HummingbirdCore
import NIOCore

/// How a request with one answer is spoken: a line of JSON with the answer, or with why there is none.
enum ControlAnswer {
    static func line(_ answer: some Encodable) throws -> [UInt8] {
        Array(#"{"answer":"#.utf8) + Array(try JSONEncoder().encode(answer)) + Array("}\n".utf8)
    }

    /// - Throws: the error that the line tells, or `internal` for a line that no host of this version writes.
    static func read<Answer: Decodable>(_ line: [UInt8], as type: Answer.Type) throws(DocumentError) -> Answer {
        if let error = try DataWire.error(line) { throw error }
        do {
            return try JSONDecoder().decode(Content<Answer>.self, from: Data(line)).answer
        } catch {
            throw DocumentError(.internal, "the host's answer can't be read: \(error)")
        }
    }

    private struct Content<Answer: Decodable>: Decodable {
        var answer: Answer
    }
}

extension RouterGroup where Context == BasicRequestContext {
    /// Answers a verb of a topic, such as `schedules/list`.
    ///
    /// - Parameter body: what it throws is told to the command: a `DocumentError` as it is.
    package func answer<Answer: Encodable & Sendable>(
        _ path: RouterPath, _ body: @escaping @Sendable (ControlParameters) async throws -> Answer
    ) {
        post(path) { request, _ in
            let status: HTTPResponse.Status
            let line: [UInt8]
            do {
                line = try ControlAnswer.line(try await body(try ControlParameters(query: request.uri.query)))
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
