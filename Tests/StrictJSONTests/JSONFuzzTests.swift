import StrictJSON
import TestSupport
import Testing

extension SeededGenerator {
    fileprivate mutating func json(depth: Int = 0) -> JSONValue {
        switch Int.random(in: 0..<(depth < 5 ? 9 : 6), using: &self) {
        case 0: .null
        case 1: .bool(.random(using: &self))
        case 2: .integer(Int64(truncatingIfNeeded: next()) >> Int64.random(in: 0..<64, using: &self))
        case 3: .unsigned(next() | 1 << 63)
        case 4: jsonDouble()
        case 5: .string(jsonText())
        case 6, 7: .array((0..<Int.random(in: 0..<5, using: &self)).map { _ in json(depth: depth + 1) })
        default:
            .object(
                JSONObject(
                    (0..<Int.random(in: 0..<20, using: &self)).map { _ in (jsonText(), json(depth: depth + 1)) }))
        }
    }

    /// A double that isn't whole: whole ones come back as integers.
    private mutating func jsonDouble() -> JSONValue {
        let number = Double(bitPattern: next())
        return number.isFinite && number != number.rounded() ? .double(number) : .double(0.5)
    }

    private mutating func jsonText() -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0..<12, using: &self) {
            let range: ClosedRange<UInt32> =
                [0...0x7F, 0x20...0x7E, 0x80...0xD7FF, 0x1F300...0x1F6FF]
                .randomElement(using: &self) ?? 0...0
            if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &self)) {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

@Suite struct JSONFuzzTests {
    @Test(arguments: 0..<20 as Range<UInt64>)
    func whatIsWrittenIsReadBack(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let value = generator.json()
            #expect(try JSONValue(parsing: value.serialized()) == value)
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func damagedTextIsReadOrRefused(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var bytes = try generator.json().serialized()
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let position = Int.random(in: bytes.indices, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[position] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.insert(UInt8.random(in: 0x20...0x7E, using: &generator), at: position)
                default: bytes.removeSubrange(position...)
                }
                if bytes.isEmpty { break }
            }
            // What is accepted must stand for itself when written again.
            let value = try? JSONValue(parsing: bytes)
            #expect(((try? JSONNode(parsing: bytes)) != nil) == (value != nil))
            #expect(value == nil || StrictnessTests.isSkipped(bytes))
            guard let value else { continue }
            let again = try JSONValue(parsing: value.serialized())
            #expect(try again.serialized() == value.serialized())
        }
    }
}
