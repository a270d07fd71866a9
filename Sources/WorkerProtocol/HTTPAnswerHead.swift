package import NIOCore

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
