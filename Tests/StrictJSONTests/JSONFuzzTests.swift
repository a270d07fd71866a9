import StrictJSON
import Testing

/// A generator whose sequence is the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func value(depth: Int = 0) -> JSONValue {
        switch Int.random(in: 0..<(depth < 5 ? 9 : 6), using: &self) {
        case 0: .null
        case 1: .bool(.random(using: &self))
        case 2: .integer(Int64(truncatingIfNeeded: next()) >> Int64.random(in: 0..<64, using: &self))
        case 3: .unsigned(next() | 1 << 63)
        case 4: double()
        case 5: .string(text())
        case 6, 7: .array((0..<Int.random(in: 0..<5, using: &self)).map { _ in value(depth: depth + 1) })
        default:
            .object(
                JSONObject(
                    (0..<Int.random(in: 0..<20, using: &self)).map { _ in (text(), value(depth: depth + 1)) }))
        }
    }

    /// A double that isn't whole: whole ones come back as integers.
    private mutating func double() -> JSONValue {
        let number = Double(bitPattern: next())
        return number.isFinite && number != number.rounded() ? .double(number) : .double(0.5)
    }

    private mutating func text() -> String {
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
        var generator = SeededGenerator(state: seed)
        for _ in 0..<100 {
            let value = generator.value()
            #expect(try JSONValue(parsing: value.serialized()) == value)
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func damagedTextIsReadOrRefused(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed)
        for _ in 0..<200 {
            var bytes = try generator.value().serialized()
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
