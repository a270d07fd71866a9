import DocumentModel
import NIOCore
import NIOHPACK
import SwiftProtobuf
import TextFormats

/// The length-prefixed messages of a gRPC call, as they arrive in pieces.
struct GRPCMessageReader {
    enum Problem: Error {
        /// A message is compressed, although the server accepts none such.
        case compressed
        case tooLarge(Int)
    }

    private let maxBytes: Int
    private var buffer = ByteBuffer()

    /// - Parameter maxBytes: the bytes that one message may have.
    init(maxBytes: Int = GRPCLimits().messageBytes) { self.maxBytes = maxBytes }

    /// The bytes that wait for the rest of their message.
    var count: Int { buffer.readableBytes }

    mutating func append(_ bytes: ByteBuffer) {
        var bytes = bytes
        guard buffer.readableBytes > 0 else { return buffer = bytes }
        // The messages before would be kept for as long as the call goes on.
        buffer.discardReadBytes()
        buffer.writeBuffer(&bytes)
    }

    /// The next whole message; nil if more has to come.
    mutating func next() throws(Problem) -> ByteBuffer? {
        guard let flag: UInt8 = buffer.getInteger(at: buffer.readerIndex) else { return nil }
        guard flag == 0 else { throw .compressed }
        guard let length: UInt32 = buffer.getInteger(at: buffer.readerIndex + 1) else { return nil }
        guard length <= maxBytes else { throw .tooLarge(Int(length)) }
        guard buffer.readableBytes >= 5 + Int(length) else { return nil }
        buffer.moveReaderIndex(forwardBy: 5)
        let message = buffer.readSlice(length: Int(length))
        // An idle stream would hold the memory of what was read last.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
        return message
    }
}

extension ByteBuffer {
    /// A message with its prefix.
    static func framed(_ message: some Message) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeFramed(message)
        return buffer
    }

    /// Appends a message with its prefix.
    mutating func writeFramed(_ message: some Message) {
        guard let bytes: [UInt8] = try? message.serializedBytes() else { return }
        reserveCapacity(minimumWritableBytes: 5 + bytes.count)
        writeInteger(UInt8(0))
        writeInteger(UInt32(bytes.count))
        writeBytes(bytes)
    }
}

extension ByteBuffer {
    /// Appends a message with gRPC's prefix, one field of which is a message that is encoded already. The order of fields
    /// doesn't matter to those who decode them.
    ///
    /// - Parameters:
    ///   - number: the field's number, from 1 to 15.
    ///   - rest: the message without the field.
    ///   - outer: the number of the field of yet another message that the message is sent in; nil if it is sent itself.
    mutating func writeFramed(_ field: ByteBuffer, as number: UInt8, beside rest: some Message, in outer: UInt8? = nil)
    {
        guard let rest: [UInt8] = try? rest.serializedBytes() else { return }
        let length = 1 + Self.varintBytes(field.readableBytes) + field.readableBytes + rest.count
        let whole = outer == nil ? length : 1 + Self.varintBytes(length) + length
        reserveCapacity(minimumWritableBytes: 5 + whole)
        writeInteger(UInt8(0))
        writeInteger(UInt32(whole))
        if let outer { writeField(outer, bytes: length) }
        writeField(number, bytes: field.readableBytes)
        writeImmutableBuffer(field)
        writeBytes(rest)
    }

    /// The start of a field with a length.
    private mutating func writeField(_ number: UInt8, bytes: Int) {
        writeInteger(number << 3 | 2)
        var rest = bytes
        while rest >= 0x80 {
            writeInteger(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        writeInteger(UInt8(rest))
    }

    private static func varintBytes(_ value: Int) -> Int {
        max(1, (Int.bitWidth - value.leadingZeroBitCount + 6) / 7)
    }
}

extension HPACKHeaders {
    static let grpcResponse: HPACKHeaders = [":status": "200", "content-type": "application/grpc"]

    /// The trailers of a call that has ended.
    static func trailers(_ error: DocumentError?) -> HPACKHeaders {
        // Clients take 8 KiB of trailers, and the message is in them twice.
        guard let error = error?.shortened else { return ["grpc-status": "0"] }
        var trailers: HPACKHeaders = ["grpc-status": "\(error.code.rawValue)", "grpc-message": encoded(error.message)]
        // The same as a message `google.rpc.Status`, which holds longer texts and is read first by Google's libraries.
        if let status: [UInt8] = try? MessageWriter.status(error).serializedBytes() {
            trailers.add(name: "grpc-status-details-bin", value: Base64.encode(status))
        }
        return trailers
    }

    /// `grpc-message` has visible ASCII characters, and percent-encoding for all others.
    private static func encoded(_ message: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in message.utf8 {
            if (0x20...0x7E).contains(byte), byte != UInt8(ascii: "%") {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// `grpc-timeout`: a number and a unit.
enum GRPCTimeout {
    /// - Returns: nil if it isn't one.
    static func amount(_ text: String) -> TimeAmount? {
        guard let unit = text.utf8.last, text.utf8.count <= 9, let value = Int64(text.dropLast()), value >= 0 else {
            return nil
        }
        switch unit {
        case UInt8(ascii: "H"): return .hours(value)
        case UInt8(ascii: "M"): return .minutes(value)
        case UInt8(ascii: "S"): return .seconds(value)
        case UInt8(ascii: "m"): return .milliseconds(value)
        case UInt8(ascii: "u"): return .microseconds(value)
        case UInt8(ascii: "n"): return .nanoseconds(value)
        default: return nil
        }
    }
}

extension DocumentError {
    private static let maxMessageBytes = 1500

    /// With as much of its message as fits where that is bounded: it may quote all that a client has sent. A character
    /// may be cut.
    var shortened: DocumentError {
        guard message.utf8.count > Self.maxMessageBytes else { return self }
        return DocumentError(code, String(decoding: message.utf8.prefix(Self.maxMessageBytes), as: UTF8.self))
    }
}
