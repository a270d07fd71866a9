@testable import DocumentModel
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

    @Test func otherFieldsArePassedOver() throws {
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<500 {
            var fields: [String: Value] = [:]
            for name in ["a", "b", "cc", "ä", "a.b"] { fields[name] = Value.random(using: &generator) }
            var writer = ByteWriter()
            writer.write(fields: fields)
            writer.write(byte: 7)
            for names in [[], ["b"], ["ä", "cc"], ["missing"], Set(fields.keys)] {
                var reader = ByteReader(writer.bytes)
                #expect(try reader.fields(named: names) == fields.filter { names.contains($0.key) })
                #expect(try reader.byte() == 7)
                try reader.finish()
            }
            // Cut anywhere, they are refused.
            var cut = ByteReader(writer.bytes.prefix(.random(in: 0..<writer.bytes.count - 1, using: &generator)))
            #expect(throws: DecodingFailure.self) { try cut.fields(named: []) }
        }
    }

    @Test func hostileBytesAreRefusedWithoutHarm() throws {
        var deep = [UInt8](repeating: 10, count: 1)
        for _ in 0..<10_000 { deep += [1, 10] }
        var reader = ByteReader(deep)
        #expect(throws: DecodingFailure.self) { try reader.value() }
        var skipping = ByteReader([1, 1, 0x61] + deep)
        #expect(throws: DecodingFailure.self) { try skipping.fields(named: []) }
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
