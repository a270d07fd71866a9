import NIOCore

/// Joins the pieces of a client's messages.
///
/// A long message is a frame with the number of its pieces and then as many frames. A lone `0` only shows that the client
/// lives. A pure state machine.
struct FrameAssembler {
    enum Output: Equatable {
        /// More pieces of the message have to come.
        case incomplete
        case keepAlive
        case message(ByteBuffer)
        /// The client breaks the protocol, or a bound. The connection ends.
        case invalid(Problem)
    }

    enum Problem: Equatable {
        case emptyFrame
        case messageTooLarge
    }

    private struct Pieces {
        /// How many are still to come.
        var missing: Int
        var joined = ByteBuffer()
    }

    private let maxMessageBytes: Int
    private var pieces: Pieces?

    /// Frames with more characters than this are never the number of pieces.
    private static let maxDigits = 6

    init(maxMessageBytes: Int) { self.maxMessageBytes = maxMessageBytes }

    /// The bytes that an incomplete message has so far.
    var heldBytes: Int { pieces?.joined.readableBytes ?? 0 }

    /// Receives the text of a frame.
    mutating func receive(_ frame: ByteBuffer) -> Output {
        guard frame.readableBytes > 0 else { return .invalid(.emptyFrame) }
        guard var open = pieces else {
            if let count = Self.number(in: frame) {
                guard count > 0 else { return .keepAlive }
                pieces = Pieces(missing: count)
                return .incomplete
            }
            guard frame.readableBytes <= maxMessageBytes else { return .invalid(.messageTooLarge) }
            return .message(frame)
        }
        // Without a second reference the joined bytes are appended to in place.
        pieces = nil
        guard open.joined.readableBytes + frame.readableBytes <= maxMessageBytes else {
            return .invalid(.messageTooLarge)
        }
        open.missing -= 1
        open.joined.writeImmutableBuffer(frame)
        if open.missing == 0 { return .message(open.joined) }
        pieces = open
        return .incomplete
    }

    private static func number(in frame: ByteBuffer) -> Int? {
        guard frame.readableBytes <= maxDigits else { return nil }
        var number = 0
        for byte in frame.readableBytesView {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return number
    }
}
