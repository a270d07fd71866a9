import DocumentModel
import Testing

/// The bytes of stored documents and of document operations on the link.
struct ByteWriterTests {
    private func bytes(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
        var writer = ByteWriter()
        write(&writer)
        return writer.bytes
    }

    @Test func primitivesKeepTheirBytes() {
        #expect(bytes { $0.write(varint: 0x7F) } == [0x7F])
        #expect(bytes { $0.write(varint: 300) } == [0xAC, 0x02])
        #expect(bytes { $0.write(varint: .max) } == [UInt8](repeating: 0xFF, count: 9) + [1])
        #expect(bytes { $0.write(signed: -1) } == [1])
        #expect(bytes { $0.write(signed: 64) } == [0x80, 0x01])
        #expect(bytes { $0.write(fixed: 0x0102_0304_0506_0708) } == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(bytes { $0.write(1.0) } == [0x3F, 0xF0, 0, 0, 0, 0, 0, 0])
        #expect(bytes { $0.write("é") } == [2, 0xC3, 0xA9])
        #expect(bytes { $0.write(blob: [9, 8]) } == [2, 9, 8])
        #expect(bytes { $0.write([true, false]) { $0.write($1) } } == [2, 1, 0])
        #expect(bytes { $0.write(optional: 5 as UInt64?) { $0.write(varint: $1) } } == [1, 5])
        #expect(bytes { $0.write(optional: nil as UInt64?) { $0.write(varint: $1) } } == [0])
    }

    @Test(arguments: [[0x80], [2, 0x61], [1, 0xFF], [0xFF, 0xFF, 0xFF, 0xFF, 0x0F]] as [[UInt8]])
    func textBeyondTheEndOrNotUTF8IsRefused(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        #expect(throws: DecodingFailure.self) { try reader.string() }
    }
}
