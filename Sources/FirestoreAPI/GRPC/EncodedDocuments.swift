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
        let (found, _) = known.withLock { ($0.use(document.path), $0.takeEvicted()) }
        if let found, found.document == document { return found.message }
        // A document lacks nothing that its message requires.
        guard let bytes: [UInt8] = try? encode(document).serializedBytes() else { return ByteBuffer() }
        let message = ByteBuffer(bytes: bytes)
        guard bytes.count <= Self.maxDocumentBytes else { return message }
        let held = 256 + document.weight + bytes.count
        // What is evicted is freed without the lock.
        _ = known.withLock { known in
            known.set(Encoded(document: document, message: message), bytes: held, for: document.path)
            return known.takeEvicted()
        }
        return message
    }
}
