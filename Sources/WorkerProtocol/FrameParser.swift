package import NIOCore

/// Cuts a stream of bytes into frames.
///
/// A length beyond ``Frame/maxLength``, or one too short for a header, is refused before anything is kept for it, so
/// that memory stays bounded by the longest frame whatever the peer sends.
package struct FrameParser {
    private var buffer = ByteBuffer()

    package init() {}

    package mutating func append(_ bytes: inout ByteBuffer) {
        if buffer.readableBytes == 0 {
            buffer = bytes
        } else {
            buffer.discardReadBytes()
            buffer.writeBuffer(&bytes)
        }
    }

    /// - Returns: the next whole frame; nil until more bytes come.
    package mutating func next() throws(ProtocolViolation) -> Frame? {
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return nil }
        guard length >= Frame.headerLength else {
            throw ProtocolViolation("a frame's length is \(length), shorter than its header")
        }
        guard length <= Frame.maxLength else {
            throw ProtocolViolation("a frame's length is \(length), over the bound of \(Frame.maxLength)")
        }
        if length > LogLine.maxFrame, buffer.getInteger(at: buffer.readerIndex + 4) == Frame.Kind.log.rawValue {
            throw ProtocolViolation("a line of the log has \(length) bytes, over the bound of \(LogLine.maxFrame)")
        }
        guard buffer.readableBytes >= 4 + Int(length) else { return nil }
        buffer.moveReaderIndex(forwardBy: 4)
        let code = try buffer.read(UInt8.self)
        let invocation = try buffer.read(UInt64.self)
        guard let kind = Frame.Kind(rawValue: code) else {
            throw ProtocolViolation("a frame has the unknown kind \(code)")
        }
        guard let payload = buffer.readSlice(length: Int(length) - Frame.headerLength) else { return nil }
        return Frame(kind, invocation: invocation, payload: payload)
    }
}
