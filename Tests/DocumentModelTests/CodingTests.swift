import DocumentModel
import TestSupport
import Testing

struct CodingTests {
    @Test func valuesComeBackAsTheyWere() throws {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let value = Value.random(using: &generator)
            var writer = ByteWriter()
            writer.write(value)
            var reader = ByteReader(writer.bytes)
            #expect(try reader.value() == value)
            try reader.finish()
        }
    }

    @Test func hostileBytesAreRefusedWithoutHarm() throws {
        var deep = [UInt8](repeating: 10, count: 1)
        for _ in 0..<10_000 { deep += [1, 10] }
        var reader = ByteReader(deep)
        #expect(throws: DecodingFailure.self) { try reader.value() }
        for other in ["K", "\u{212A}"] {
            var twice = ByteWriter()
            twice.write(count: 2)
            for name in ["K", other] {
                twice.write(name)
                twice.write(Value.null)
            }
            var reader = ByteReader(twice.bytes)
            #expect(throws: DecodingFailure.self) { try reader.fields() }
        }
        var lying = ByteReader([10, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F])
        #expect(throws: DecodingFailure.self) { try lying.value() }
    }
}
