import DocumentModel
@testable import FirestoreAPI
import FirestoreMessages
import NIOCore
import SwiftProtobuf
import Testing

struct EncodedDocumentsTests {
    private let writer = MessageWriter(database: DatabaseID(project: "demo-shop"))

    private func document(_ id: String, _ text: String) throws -> Document {
        let time = Timestamp(microseconds: 5)
        return Document(
            path: try DocumentPath("c/\(id)"), fields: ["text": .string(text)], createTime: time, updateTime: time)
    }

    /// With lengths that take one byte, two and more.
    @Test(arguments: [0, 1, 60, 127, 128, 129, 16_300, 16_500, 100_000])
    func aMessageAroundAnEncodedDocumentIsWhole(_ length: Int) throws {
        let encoded = EncodedDocuments()
        let document = try document("d", String(repeating: "x", count: length))
        for _ in 0..<2 {
            let message = encoded.message(of: document, encode: writer.document)
            var bytes = ByteBuffer(string: "before")
            let change = FSDocumentChange.with { $0.targetIds = [1, 300] }
            bytes.writeFramed(message, as: 1, beside: change, in: 3)
            bytes.writeFramed(message, as: 1, beside: FSBatchGetDocumentsResponse.with { $0.readTime.seconds = 7 })
            bytes.moveReaderIndex(forwardBy: 6)
            var reader = GRPCMessageReader()
            reader.append(bytes)
            let messages = [try #require(try reader.next()), try #require(try reader.next())]
            let first = try FSListenResponse(serializedBytes: Array(messages[0].readableBytesView))
            #expect(first.documentChange.document == writer.document(document))
            #expect(first.documentChange.targetIds == [1, 300])
            let second = try FSBatchGetDocumentsResponse(serializedBytes: Array(messages[1].readableBytesView))
            #expect(second.found == writer.document(document) && second.readTime.seconds == 7)
            #expect(reader.count == 0)
        }
    }

    /// As after an import, or of a projection.
    @Test func anotherStateOfTheSameTimeIsEncodedAgain() throws {
        let encoded = EncodedDocuments()
        for text in ["a", "b", "a"] {
            let document = try document("d", text)
            let bytes = encoded.message(of: document, encode: writer.document)
            #expect(try FSDocument(serializedBytes: Array(bytes.readableBytesView)) == writer.document(document))
        }
        let known = try document("d", "a")
        _ = encoded.message(of: known) { _ in
            Issue.record("a known document is encoded again")
            return FSDocument()
        }
    }
}
