import DocumentModel
import WorkerProtocol
import NIOCore

/// The JSON in which callables answer errors.
enum ErrorBody {
    /// `{"error":{"message":…,"status":…,"details":…}}`, without details if there are none.
    static func write(_ failure: InvocationFailure, to buffer: inout ByteBuffer) {
        buffer.writeString("{\"error\":{")
        if let details = failure.details {
            buffer.writeString("\"details\":")
            buffer.writeImmutableBuffer(details)
            buffer.writeString(",")
        }
        buffer.writeString("\"message\":")
        buffer.writeJSON(failure.message)
        buffer.writeString(",\"status\":\"\(failure.code.wireName)\"}}")
    }
}

extension ByteBuffer {
    /// A text as a JSON string.
    mutating func writeJSON(_ text: String) {
        writeInteger(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                writeInteger(UInt8(ascii: "\\"))
                writeInteger(byte)
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                writeString("\\u00")
                writeInteger(digits[Int(byte >> 4)])
                writeInteger(digits[Int(byte & 15)])
            default: writeInteger(byte)
            }
        }
        writeInteger(UInt8(ascii: "\""))
    }
}

extension InvocationFailure {
    static let badRequest = InvocationFailure(code: .invalidArgument, message: "Bad Request")
    static let unauthenticated = InvocationFailure(code: .unauthenticated, message: "Unauthenticated")
    static let keysUnavailable = InvocationFailure(
        code: .unavailable, message: "The keys to verify tokens can't be had at the moment.")
}
