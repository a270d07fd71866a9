package import DocumentModel
package import HostJSON
package import NIOCore

/// A request's JSON. What is wrong in it becomes INVALID_ARGUMENT with the path of the place.
package struct RESTBody: Sendable {
    private let root: JSONNode

    /// - Throws: `invalidArgument` with line and column where the body is no JSON.
    package init(_ buffer: ByteBuffer) throws(DocumentError) {
        guard buffer.readableBytes > 0 else {
            root = JSONNode(kind: .object([]), offset: 0)
            return
        }
        let parsed = buffer.withUnsafeReadableBytes { bytes -> Result<JSONNode, DocumentError> in
            do throws(JSONProblem) {
                return .success(try JSONParser.parse(bytes.assumingMemoryBound(to: UInt8.self)))
            } catch {
                let place = JSONPosition(of: error.offset, in: bytes)
                return .failure(
                    .invalidArgument("the body, line \(place.line), column \(place.column): \(error.message)"))
            }
        }
        root = try parsed.get()
    }

    /// - Throws: `invalidArgument` such as `fields.stock.integerValue: "x" is no 64-bit integer`.
    package func read<Message>(_ body: (JSONNode) throws(JSONProblem) -> Message) throws(DocumentError) -> Message {
        do throws(JSONProblem) {
            return try body(root)
        } catch {
            let path = root.path(to: error.offset) ?? ""
            throw .invalidArgument(path.isEmpty ? error.message : "\(path): \(error.message)")
        }
    }
}
