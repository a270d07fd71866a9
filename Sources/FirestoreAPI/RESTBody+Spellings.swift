import DocumentModel
import FirestoreMessages
import GoogleREST
import NIOCore
import StrictJSON
import SwiftProtobuf

/// Protobuf's JSON allows several spellings of one message: names as in the .proto file, enums by number, integers as
/// numbers or text, wrappers. Google's own clients use them; the clients of apps use the common one, which is read directly.
extension RESTBody {
    /// Decodes the body. What doesn't have the common spelling is read by the generated message, and again in the spelling
    /// that this writes.
    ///
    /// - Throws: as `read(_:)`.
    func read<Message: SwiftProtobuf.Message, Result>(
        as type: Message.Type, _ body: (JSONNode) throws(JSONProblem) -> Result
    ) throws(DocumentError) -> Result {
        do throws(DocumentError) {
            return try read(body)
        } catch {
            guard
                let common = try? ByteBuffer(
                    bytes: type.init(jsonUTF8Bytes: Array(bytes.readableBytesView)).jsonUTF8Bytes() as [UInt8])
            else { throw error }
            return try RESTBody(common).read(body)
        }
    }
}
