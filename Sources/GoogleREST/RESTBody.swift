package import DocumentModel
import HTTPTypes
package import Hummingbird
package import NIOCore
package import StrictJSON

/// The JSON body of a request. Invalid content fails with INVALID_ARGUMENT and its path.
package struct RESTBody: Sendable {
    package let bytes: ByteBuffer

    package init(_ bytes: ByteBuffer) { self.bytes = bytes }

    /// Receives the body of a request.
    ///
    /// - Throws: `invalidArgument` if it is larger than the limit, `cancelled` if it doesn't arrive.
    package static func bytes(
        of request: Request, atMost maxBytes: Int
    ) async throws(DocumentError) -> ByteBuffer {
        do {
            return try await request.body.collect(upTo: maxBytes)
        } catch let error as any HTTPResponseError where error.status == .contentTooLarge {
            throw .invalidArgument("the request body is larger than the limit of \(maxBytes) bytes")
        } catch {
            throw DocumentError(.cancelled, "the request body was not received")
        }
    }

    /// Decodes the body. Its nodes, which are many times as large as their text, are gone before the request is served.
    ///
    /// - Throws: `invalidArgument` with line and column if the body is not JSON, otherwise with the path and the reason,
    ///   such as `fields.stock: a value needs a type`.
    package func read<Message>(_ body: (JSONNode) throws(JSONProblem) -> Message) throws(DocumentError) -> Message {
        var root = try parsed()
        defer { root.free() }
        do throws(JSONProblem) {
            return try body(root)
        } catch {
            let path = root.path(to: error.offset) ?? ""
            throw .invalidArgument(path.isEmpty ? error.message : "\(path): \(error.message)")
        }
    }

    /// An empty body stands for an empty object.
    private func parsed() throws(DocumentError) -> JSONNode {
        guard bytes.readableBytes > 0 else { return JSONNode(kind: .object([]), offset: 0) }
        return try bytes.withUnsafeReadableBytes { bytes -> Result<JSONNode, DocumentError> in
            do throws(JSONProblem) {
                return .success(try JSONNode(parsing: bytes))
            } catch {
                let place = JSONPosition(of: error.offset, in: bytes)
                return .failure(
                    .invalidArgument("the body, line \(place.line), column \(place.column): \(error.message)"))
            }
        }.get()
    }
}
