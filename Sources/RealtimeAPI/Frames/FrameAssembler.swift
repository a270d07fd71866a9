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
        /// A message above the bound was discarded; nil if it has no request's number.
        case tooLarge(request: Int64?)
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
        /// Of a message that is too large, and its bytes so far.
        var discarded: (finder: RequestNumberFinder, bytes: Int)?
    }

    private let maxMessageBytes: Int
    private var pieces: Pieces?

    /// A message that is so many times too large ends the connection.
    private static let maxDiscarded = 16
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
            guard frame.readableBytes <= maxMessageBytes else {
                var finder = RequestNumberFinder()
                finder.scan(frame.readableBytesView)
                return .tooLarge(request: finder.number)
            }
            return .message(frame)
        }
        // Without a second reference the joined bytes are appended to in place.
        pieces = nil
        open.missing -= 1
        if open.joined.readableBytes + frame.readableBytes > maxMessageBytes, open.discarded == nil {
            var finder = RequestNumberFinder()
            finder.scan(open.joined.readableBytesView)
            open.discarded = (finder, open.joined.readableBytes)
            open.joined = ByteBuffer()
        }
        if var (finder, bytes) = open.discarded {
            finder.scan(frame.readableBytesView)
            bytes += frame.readableBytes
            guard bytes <= maxMessageBytes * Self.maxDiscarded else { return .invalid(.messageTooLarge) }
            if open.missing == 0 { return .tooLarge(request: finder.number) }
            open.discarded = (finder, bytes)
        } else {
            open.joined.writeImmutableBuffer(frame)
            if open.missing == 0 { return .message(open.joined) }
        }
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
