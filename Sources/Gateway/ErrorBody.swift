import DocumentModel
import StrictJSON
import WorkerProtocol
import NIOCore
import NIOHTTP1

/// The JSON of callables' errors.
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

extension LocalHosts.Refusal {
    /// As Google's REST APIs write errors.
    var json: [UInt8] {
        var json = JSONWriter()
        json.raw("{\"error\":{\"code\":")
        json.integer(status.code)
        json.raw(",\"message\":")
        json.string(message)
        json.raw(",\"status\":")
        json.string(failure.code.wireName)
        json.raw("}}")
        return json.bytes
    }

    var failure: InvocationFailure {
        let code: StatusCode =
            switch status {
            case .forbidden: .permissionDenied
            case .serviceUnavailable: .unavailable
            case .requestTimeout: .deadlineExceeded
            case .tooManyRequests: .resourceExhausted
            default: .invalidArgument
            }
        return InvocationFailure(code: code, message: message)
    }
}

extension ByteBuffer {
    /// A text as a JSON string.
    mutating func writeJSON(_ text: String) {
        var json = JSONWriter()
        json.string(text)
        // The error may be an event of a stream, whose readers would end its line there.
        json.escapeLineEnds()
        writeBytes(json.bytes)
    }
}

extension InvocationFailure {
    static let badRequest = InvocationFailure(code: .invalidArgument, message: "Bad Request")
    static let compressedBody = InvocationFailure(
        code: .invalidArgument, message: "The request body is compressed; send it without a Content-Encoding.")
    static let unauthenticated = InvocationFailure(code: .unauthenticated, message: "Unauthenticated")
    static let keysUnavailable = InvocationFailure(
        code: .unavailable, message: "The keys to verify tokens can't be had at the moment.")
    static let tokensUnavailable = InvocationFailure(
        code: .unavailable, message: "It can't be known at the moment if the App Check token was used before.")
    static let keyWithoutUser = InvocationFailure(
        code: DocumentError.keyWithoutUser.code, message: DocumentError.keyWithoutUser.message)

    static func bodyTooLarge(limit: Int) -> InvocationFailure {
        InvocationFailure(
            code: .invalidArgument, message: "The request body is larger than the limit of \(limit) bytes.")
    }

    static let headTooLarge = InvocationFailure(
        code: .invalidArgument, message: "The headers of the request are more than 256, or larger than 80 KiB.")

    static let notHTTP = InvocationFailure(code: .invalidArgument, message: "The request isn't valid HTTP.")

    /// The function has run: whether a call may be repeated is for its client to know.
    static let tooManyAnswers = InvocationFailure(
        code: .resourceExhausted,
        message: "Too much of the answers to this caller, or to all, waits to be received.")

    static func tooSlow(_ time: TimeAmount) -> InvocationFailure {
        InvocationFailure(
            code: .deadlineExceeded,
            message: "The request didn't arrive within \(time.nanoseconds / 1_000_000_000) s.")
    }

    static let tooManyBodies = InvocationFailure(
        code: .unavailable, message: "The server holds too many request bodies at the moment.")
}
