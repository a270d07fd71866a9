import NIOCore

/// Cuts a message for a client into frames: one, or the number of its pieces and the pieces.
///
/// The message may come in several parts, but its length must be known at the start. Pieces end between characters.
struct FramePieces {
    /// The UTF-16 units of a message that needs no pieces, and of a piece.
    static let maxUnits = 16_384
    /// iOS reads four digits of the number of pieces. A message that would need more has larger ones.
    static let maxCount = 9_999

    private let units: Int
    private let count: Int
    /// The pieces that have ended.
    private var ended = 0
    /// The units of all bytes so far.
    private var position = 0
    private var piece = ByteBuffer()

    /// - Parameter units: of the whole message, more than 0.
    init(units: Int) {
        self.units = units
        // A piece that would end within a character has one unit more.
        let enough = (units + Self.maxUnits - 2) / (Self.maxUnits - 1)
        count = units <= Self.maxUnits ? 1 : min(enough, Self.maxCount)
    }

    /// The frames of a whole message.
    static func frames(of message: [UInt8]) -> ByteBuffer {
        frames(of: message, [], units: message.withUnsafeBytes { UTF16Units.count($0) })
    }

    /// The frames of a whole message that is in two parts.
    ///
    /// - Parameter units: of both.
    static func frames(of beginning: [UInt8], _ end: [UInt8], units: Int) -> ByteBuffer {
        let count = beginning.count + end.count
        var frames = ByteBuffer()
        frames.reserveCapacity(count + 16 + units / (maxUnits - 1) * 10)
        guard units > maxUnits else {
            ServerFrame.header(opcode: 0x1, length: count, to: &frames)
            frames.writeBytes(beginning)
            frames.writeBytes(end)
            return frames
        }
        var pieces = FramePieces(units: units)
        pieces.begin(&frames)
        for part in [beginning, end] { part.withUnsafeBytes { pieces.append($0, to: &frames) } }
        pieces.end(&frames)
        return frames
    }

    /// Writes the frame before the pieces, if there are several.
    func begin(_ frames: inout ByteBuffer) {
        guard count > 1 else { return }
        var number = String(count)
        number.withUTF8 { ServerFrame.write(UnsafeRawBufferPointer($0), to: &frames) }
    }

    /// Appends a part of the message, and writes the pieces that it completes.
    mutating func append(_ part: UnsafeRawBufferPointer, to frames: inout ByteBuffer) {
        var start = 0
        var index = 0
        while index < part.count {
            let byte = part[index]
            if byte & 0xC0 != 0x80 {
                // Bytes that go on with a character belong to its piece, as does a second unit.
                if ended < count - 1, position >= (ended + 1) * units / count {
                    piece.writeBytes(UnsafeRawBufferPointer(rebasing: part[start..<index]))
                    endPiece(&frames)
                    start = index
                }
                position += byte >= 0xF0 ? 2 : 1
            }
            index += 1
        }
        piece.writeBytes(UnsafeRawBufferPointer(rebasing: part[start...]))
    }

    /// Writes the last piece.
    mutating func end(_ frames: inout ByteBuffer) { endPiece(&frames) }

    private mutating func endPiece(_ frames: inout ByteBuffer) {
        piece.withUnsafeReadableBytes { ServerFrame.write($0, to: &frames) }
        piece.clear()
        ended += 1
    }
}

/// Counts the UTF-16 units of text in UTF-8.
enum UTF16Units {
    static func count(_ text: UnsafeRawBufferPointer) -> Int {
        var count = 0
        // Bytes that begin a character count, and those of four bytes twice.
        for byte in text { count += (byte & 0xC0 == 0x80 ? 0 : 1) + (byte >= 0xF0 ? 1 : 0) }
        return count
    }
}

/// Frames from server to client (RFC 6455, section 5.2): whole, and not masked.
enum ServerFrame {
    static func write(_ text: UnsafeRawBufferPointer, to frames: inout ByteBuffer) {
        header(opcode: 0x1, length: text.count, to: &frames)
        frames.writeBytes(text)
    }

    /// - Parameter opcode: 1 for text, 8 for close, 9 for ping, 10 for pong.
    static func header(opcode: UInt8, length: Int, to frames: inout ByteBuffer) {
        frames.writeInteger(0x80 | opcode)
        switch length {
        case ..<126: frames.writeInteger(UInt8(length))
        case ...0xFFFF:
            frames.writeInteger(UInt8(126))
            frames.writeInteger(UInt16(length))
        default:
            frames.writeInteger(UInt8(127))
            frames.writeInteger(UInt64(length))
        }
    }
}
