package import NIOCore

/// Splits a byte stream into frames.
///
/// An invalid length is refused before any memory is reserved for it, so if all frames are taken, the buffer never exceeds
/// the largest one. What a large frame took isn't kept until the next one comes, which may be long.
package struct FrameParser {
    private var buffer = ByteBuffer()

    private static let smallStorage = 65_536

    package init() {}

    package mutating func append(_ bytes: inout ByteBuffer) {
        if buffer.readableBytes == 0 {
            buffer = bytes
        } else {
            buffer.discardReadBytes()
            buffer.writeBuffer(&bytes)
        }
    }

    /// The bytes of the frame whose beginning has arrived; nil if its length isn't known yet, or all of it has arrived.
    package var incompleteLength: Int? {
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self), length <= Frame.maxLength,
            buffer.readableBytes < 4 + Int(length)
        else { return nil }
        return 4 + Int(length)
    }

    /// Bytes of memory that it keeps.
    var storage: Int { buffer.storageCapacity }

    /// - Returns: The next complete frame; nil if more bytes are needed.
    package mutating func next() throws(ProtocolViolation) -> Frame? {
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return nil }
        guard length >= Frame.headerLength else {
            throw ProtocolViolation("a frame has \(length) bytes, fewer than its header")
        }
        guard length <= Frame.maxLength else {
            throw ProtocolViolation("a frame has \(length) bytes, more than \(Frame.maxLength), the limit")
        }
        if length > LogLine.maxFrame, buffer.getInteger(at: buffer.readerIndex + 4) == Frame.Kind.log.rawValue {
            throw ProtocolViolation("a log frame has \(length) bytes, more than \(LogLine.maxFrame), the limit")
        }
        guard buffer.readableBytes >= 4 + Int(length) else { return nil }
        buffer.moveReaderIndex(forwardBy: 4)
        let code = try buffer.read(UInt8.self)
        let invocation = try buffer.read(UInt64.self)
        guard let kind = Frame.Kind(rawValue: code) else {
            throw ProtocolViolation("unknown frame kind \(code)")
        }
        guard let payload = buffer.readSlice(length: Int(length) - Frame.headerLength) else { return nil }
        if storage > Self.smallStorage, storage / 4 > buffer.readableBytes {
            buffer = ByteBuffer(bytes: buffer.readableBytesView)
        }
        return Frame(kind, invocation: invocation, payload: payload)
    }
}
