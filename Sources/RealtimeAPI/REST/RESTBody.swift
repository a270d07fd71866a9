import NIOCore
import StrictJSON

/// The bodies of answers.
enum RESTBody {
    static let contentType = "application/json; charset=utf-8"

    static func error(_ message: String) -> ByteBuffer {
        var writer = JSONWriter(capacity: 64 + message.utf8.count)
        writer.raw("{\n  \"error\" : ")
        writer.string(message)
        writer.raw("\n}\n")
        return ByteBuffer(bytes: writer.bytes)
    }
}
