package import DocumentModel
package import NIOCore

/// How an invocation failed, as reported by the worker.
package struct InvocationFailure: Equatable, Sendable {
    /// The maximum size of message and details together: the host looks for secrets in all of it, on an event loop.
    package static let maxBytes = 1024 * 1024
    /// The maximum size of a failure's frame.
    package static let maxFrame = maxBytes + 65_536

    package var code: StatusCode
    package var message: String
    /// JSON; nil if there are no details.
    package var details: ByteBuffer?
    /// Whether no other attempt at the event can succeed either.
    package var isPermanent: Bool
    /// The Swift type of what an event's handler threw; nil for other failures.
    package var errorType: String?

    package init(
        code: StatusCode, message: String, details: ByteBuffer? = nil, isPermanent: Bool = false,
        errorType: String? = nil
    ) {
        self.code = code
        self.message = message
        self.details = details
        self.isPermanent = isPermanent
        self.errorType = errorType
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.writeInteger(code.rawValue)
        buffer.writeText(message)
        buffer.writeInteger(UInt8(details == nil ? 0 : 1))
        if let details { buffer.writeBlob(details.readableBytesView) }
        buffer.writeInteger(UInt8(isPermanent ? 1 : 0))
        if let errorType { buffer.writeText(errorType) }
    }

    package init(from buffer: inout ByteBuffer) throws(ProtocolViolation) {
        guard let code = StatusCode(rawValue: try buffer.read(UInt8.self)) else {
            throw ProtocolViolation("a failure has an unknown code")
        }
        self.code = code
        message = try buffer.readText()
        details = try buffer.read(UInt8.self) == 0 ? nil : try buffer.readBlob()
        isPermanent = try buffer.read(UInt8.self) != 0
        if buffer.readableBytes > 0 { errorType = try buffer.readText() }
    }
}

/// Why the host cancels a handler.
package enum CancellationReason: UInt8, Sendable {
    case deadline = 1
    case clientGone = 2
    case shutdown = 3
}

/// The status and headers of an HTTP function's response.
package struct HTTPAnswerHead: Equatable, Sendable {
    /// The maximum size of all headers, encoded. The host decodes them on an event loop, and they don't count as bodies
    /// of answers do.
    package static let maxHeaderBytes = 256 * 1024

    package var status: UInt16
    package var headers: HeaderBlock

    package init(status: UInt16, headers: HeaderBlock) {
        self.status = status
        self.headers = headers
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.writeInteger(status)
        buffer.writeBlob(headers.encoded.readableBytesView)
    }

    package init(from buffer: inout ByteBuffer) throws(ProtocolViolation) {
        status = try buffer.read(UInt16.self)
        headers = HeaderBlock(encoded: try buffer.readBlob())
    }
}

/// A line that a handler logged.
package struct LogLine: Equatable, Sendable {
    /// swift-log's level as an index: 0 for trace to 6 for critical.
    package var level: UInt8
    package var label: String
    package var message: String
    package var metadata: [String: LogValue]

    package init(level: UInt8, label: String, message: String, metadata: [String: LogValue]) {
        self.level = level
        self.label = label
        self.message = message
        self.metadata = metadata
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.writeInteger(level)
        buffer.writeText(label)
        buffer.writeText(message)
        let texts = metadata.compactMap { key, value in value.text.map { (key, $0) } }
        buffer.writeInteger(UInt16(clamping: texts.count))
        for (key, value) in texts.prefix(Int(UInt16.max)) {
            buffer.writeText(key)
            buffer.writeText(value)
        }
        // After all else, where a host that doesn't know of them ignores them.
        for (key, value) in metadata where value.text == nil {
            buffer.writeText(key)
            value.write(to: &buffer)
        }
    }

    package init(from buffer: inout ByteBuffer) throws(ProtocolViolation) {
        level = try buffer.read(UInt8.self)
        label = try buffer.readText()
        message = try buffer.readText()
        metadata = [:]
        for _ in 0..<(try buffer.read(UInt16.self)) {
            let key = try buffer.readText()
            metadata[key] = .text(try buffer.readText())
        }
        while buffer.readableBytes > 0 {
            let key = try buffer.readText()
            metadata[key] = try LogValue(from: &buffer)
        }
    }
}
