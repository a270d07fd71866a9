import NIOCore
import NIOHTTP1

/// Writes the answers of one connection as bytes: head, body in the framing that the client understands, end.
///
/// A whole answer becomes one buffer and so one system call, which is most of what an answer costs.
struct AnswerWriter {
    private enum Framing {
        /// The head told the length.
        case length
        case chunked
        /// The client is of HTTP/1.0: the connection's end is the body's.
        case untilClose
        /// HEAD, 204 and 304 have no body.
        case none
    }

    private(set) var hasHead = false
    private var framing = Framing.none

    /// A new answer begins.
    mutating func reset() { self = AnswerWriter() }

    /// - Parameters:
    ///   - length: of the whole body; nil where it is streamed.
    ///   - date: the `Date` header's value.
    mutating func head(
        _ status: HTTPResponseStatus, _ headers: HTTPHeaders, length: Int?, request: AnswerRequest, date: String,
        into bytes: inout ByteBuffer
    ) {
        hasHead = true
        let mayHaveBody = status != .noContent && status != .notModified
        bytes.writeStaticString("HTTP/1.1 ")
        bytes.writeString("\(status.code) ")
        bytes.writeString(status.reasonPhrase)
        bytes.writeStaticString("\r\n")
        for (name, value) in headers { bytes.writeHeader(name, value) }
        if !headers.contains(name: "Date") { bytes.writeHeader("Date", date) }
        if !mayHaveBody {
            framing = .none
        } else if let length {
            bytes.writeHeader("Content-Length", "\(length)")
            framing = request.isHead ? .none : .length
        } else if request.isOld {
            framing = request.isHead ? .none : .untilClose
        } else {
            bytes.writeHeader("Transfer-Encoding", "chunked")
            framing = request.isHead ? .none : .chunked
        }
        if !request.keepsAlive || (framing == .untilClose) {
            bytes.writeHeader("Connection", "close")
        } else if request.isOld {
            bytes.writeHeader("Connection", "keep-alive")
        }
        bytes.writeStaticString("\r\n")
    }

    /// A part of the body; nothing where the answer has none.
    func part(_ part: ByteBuffer, into bytes: inout ByteBuffer) {
        guard part.readableBytes > 0 else { return }
        switch framing {
        case .none: break
        case .length, .untilClose: bytes.writeImmutableBuffer(part)
        case .chunked:
            bytes.writeString(String(part.readableBytes, radix: 16))
            bytes.writeStaticString("\r\n")
            bytes.writeImmutableBuffer(part)
            bytes.writeStaticString("\r\n")
        }
    }

    func end(into bytes: inout ByteBuffer) {
        if framing == .chunked { bytes.writeStaticString("0\r\n\r\n") }
    }

    /// Whether only closing the connection tells the client that the answer is whole.
    var endsByClosing: Bool { framing == .untilClose }
}

/// What of a request shapes the bytes of its answer.
struct AnswerRequest {
    var isHead = false
    /// HTTP/1.0, which knows no chunks.
    var isOld = false
    var keepsAlive = false
}

extension ByteBuffer {
    fileprivate mutating func writeHeader(_ name: String, _ value: String) {
        writeString(name)
        writeStaticString(": ")
        writeString(value)
        writeStaticString("\r\n")
    }
}
