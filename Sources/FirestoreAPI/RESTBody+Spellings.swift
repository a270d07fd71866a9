import DocumentModel
import FirestoreMessages
import GoogleREST
import NIOCore
import StrictJSON
import SwiftProtobuf

/// Protobuf's JSON allows several spellings of one message: names as in the .proto file, enums by number, integers as
/// numbers or text, wrappers. Google's own clients use them; the clients of apps use the common one, which is read directly.
extension RESTBody {
    /// A message can take a hundred times as much memory as its text.
    private static var maxMessages: Int { 500_000 }

    /// Decodes the body. What doesn't have the common spelling is read by the generated message, and again in the spelling
    /// that this writes.
    ///
    /// - Parameter maxMessages: what has more is read in the common spelling only.
    /// - Throws: as `read(_:)`.
    func read<Message: SwiftProtobuf.Message, Result>(
        as type: Message.Type, maxMessages: Int = RESTBody.maxMessages, _ body: (JSONNode) throws(JSONProblem) -> Result
    ) throws(DocumentError) -> Result {
        do throws(DocumentError) {
            return try read(body)
        } catch {
            guard objects <= maxMessages,
                let common = try? ByteBuffer(
                    bytes: type.init(jsonUTF8Bytes: Array(bytes.readableBytesView)).jsonUTF8Bytes() as [UInt8])
            else { throw error }
            return try RESTBody(common).read(body)
        }
    }

    /// The objects of the text, up to where it stops being JSON.
    private var objects: Int {
        var (count, isText, isEscaped) = (0, false, false)
        for byte in bytes.readableBytesView {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isText: isEscaped = true
            case UInt8(ascii: "\""): isText.toggle()
            case UInt8(ascii: "{") where !isText: count += 1
            default: break
            }
        }
        return count
    }
}
