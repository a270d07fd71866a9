package import DocumentModel
package import NIOCore
package import StrictJSON

/// The JSON body of a request. Invalid content fails with INVALID_ARGUMENT and its path.
package struct RESTBody: Sendable {
    private let root: JSONNode

    /// - Throws: `invalidArgument` with line and column if the body is not JSON.
    package init(_ buffer: ByteBuffer) throws(DocumentError) {
        guard buffer.readableBytes > 0 else {
            root = JSONNode(kind: .object([]), offset: 0)
            return
        }
        let parsed = buffer.withUnsafeReadableBytes { bytes -> Result<JSONNode, DocumentError> in
            do throws(JSONProblem) {
                return .success(try JSONNode(parsing: bytes))
            } catch {
                let place = JSONPosition(of: error.offset, in: bytes)
                return .failure(
                    .invalidArgument("the body, line \(place.line), column \(place.column): \(error.message)"))
            }
        }
        root = try parsed.get()
    }

    /// - Throws: `invalidArgument` with the path and the reason, such as `fields.stock: a value needs a type`.
    package func read<Message>(_ body: (JSONNode) throws(JSONProblem) -> Message) throws(DocumentError) -> Message {
        do throws(JSONProblem) {
            return try body(root)
        } catch {
            let path = root.path(to: error.offset) ?? ""
            throw .invalidArgument(path.isEmpty ? error.message : "\(path): \(error.message)")
        }
    }
}
