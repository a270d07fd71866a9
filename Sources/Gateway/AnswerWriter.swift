import NIOCore
import NIOHTTP1

/// Writes the answers of one connection as bytes: the head, the body in the framing that the client understands, and
/// the end.
///
/// A whole answer becomes one buffer and therefore one system call, which is most of an answer's cost.
struct AnswerWriter {
    private enum Framing {
        /// The head contains the length.
        case length
        case chunked
        /// For HTTP/1.0: the end of the connection ends the body.
        case untilClose
        /// Answers to HEAD, and those with 204 or 304, have no body.
        case none
    }

    private(set) var hasHead = false
    private var framing = Framing.none

    /// Prepares for a new answer.
    mutating func reset() { self = AnswerWriter() }

    static func mayHaveBody(_ status: HTTPResponseStatus) -> Bool { status != .noContent && status != .notModified }

    /// - Parameters:
    ///   - length: of the whole body; nil if it is streamed.
    ///   - date: the `Date` header's value.
    mutating func head(
        _ status: HTTPResponseStatus, _ headers: HTTPHeaders, length: Int?, request: AnswerRequest, date: String,
        into bytes: inout ByteBuffer
    ) {
        hasHead = true
        let mayHaveBody = Self.mayHaveBody(status)
        bytes.writeStaticString("HTTP/1.1 ")
        bytes.writeString("\(status.code) ")
        bytes.writeString(status.reasonPhrase)
        bytes.writeStaticString("\r\n")
        for (name, value) in headers { bytes.writeHeader(name, value) }
        if !headers.contains(name: "Date") { bytes.writeHeader("Date", date) }
        if !mayHaveBody {
            framing = .none
        } else if let length {
            // A worker runs no stream for HEAD, and a handler may leave out its body: the length that GET's answer has
            // isn't known then.
            if length > 0 || !request.isHead { bytes.writeHeader("Content-Length", "\(length)") }
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

    /// Writes a part of the body, or nothing if the answer has none.
    func part(_ part: AnswerPart, into bytes: inout ByteBuffer) {
        beginPart(part, into: &bytes)
        if framing != .none { bytes.writeImmutableBuffer(part.content) }
        endPart(part, into: &bytes)
    }

    /// Writes the bytes before a part's content. The caller then writes the content itself, so a large one isn't copied.
    /// - Returns: whether the answer has a body, and so whether the content is to be written.
    @discardableResult
    func beginPart(_ part: AnswerPart, into bytes: inout ByteBuffer) -> Bool {
        guard framing != .none, part.count > 0 else { return false }
        if framing == .chunked {
            bytes.writeString(String(part.count, radix: 16))
            bytes.writeStaticString("\r\n")
        }
        bytes.writeStaticString(part.opening)
        return true
    }

    func endPart(_ part: AnswerPart, into bytes: inout ByteBuffer) {
        guard framing != .none, part.count > 0 else { return }
        bytes.writeStaticString(part.closing)
        if framing == .chunked { bytes.writeStaticString("\r\n") }
    }

    func end(into bytes: inout ByteBuffer) {
        if framing == .chunked { bytes.writeStaticString("0\r\n\r\n") }
    }

    /// Whether the answer ends with the connection.
    var endsByClosing: Bool { framing == .untilClose }
}

/// A part of a body: what the gateway adds around it, and the bytes that a worker sent.
struct AnswerPart {
    var opening: StaticString = ""
    var content: ByteBuffer
    var closing: StaticString = ""

    var count: Int { opening.utf8CodeUnitCount + content.readableBytes + closing.utf8CodeUnitCount }
}

extension ByteBuffer {
    /// The same bytes, copied if they are a small part of what they were read with: a slice keeps all of that in memory
    /// for as long as it waits for its client, and counts by its own size.
    var withOwnStorage: ByteBuffer {
        guard storageCapacity > Self.smallStorage, storageCapacity / 4 > readableBytes else { return self }
        return ByteBuffer(bytes: readableBytesView)
    }

    /// A read from a worker may bring more, and an answer that came in several reads is followed by others' frames.
    private static let smallStorage = 65_536
}

/// What the bytes of an answer depend on in its request.
struct AnswerRequest {
    var isHead = false
    /// HTTP/1.0, which has no chunks.
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
