import DocumentModel
import FirestoreMessages
import NIOCore
import Sharing
import SwiftProtobuf
import Synchronization

/// The messages of documents that were sent lately: a changed document goes to all that listen to it, and to make its message
/// costs more than to send it.
final class EncodedDocuments: Sendable {
    private struct Encoded {
        let document: Document
        let message: ByteBuffer
    }

    private static let maxBytes = 8 * 1024 * 1024
    private static let maxDocumentBytes = 16 * 1024

    private let known = Mutex(RecentMap<DocumentPath, Encoded>(maxBytes: maxBytes))

    /// - Parameter encode: makes the message, if it isn't known.
    func message(of document: Document, encode: (Document) -> FSDocument) -> ByteBuffer {
        // Of documents that are the same in memory, as they mostly are, the fields aren't compared one by one.
        if let found = known.withLock({ $0.use(document.path) }), found.document == document { return found.message }
        let bytes: [UInt8] = (try? encode(document).serializedBytes()) ?? []
        let message = ByteBuffer(bytes: bytes)
        guard bytes.count <= Self.maxDocumentBytes else { return message }
        // The document holds about as much again, and its fields' places.
        let held = 512 + 4 * bytes.count
        known.withLock { $0.set(Encoded(document: document, message: message), bytes: held, for: document.path) }
        return message
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
