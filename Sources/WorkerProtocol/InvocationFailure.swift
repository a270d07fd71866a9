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
