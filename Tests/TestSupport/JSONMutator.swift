/// Changes JSON by its structure: values, members and nesting, and now and then bytes.
package struct JSONMutator: Sendable {
    package var bytes: ByteMutator

    package init(_ random: SeededGenerator) { bytes = ByteMutator(random) }

    private static let values =
        ByteMutator.extremes.flatMap { ["\($0)", "\"\($0)\""] } + [
            "null", "true", "false", "[]", "{}", "\"\"", "18446744073709551616", "-9223372036854775809", "1e308",
            "1e999",
            "-1e-999", "0.1", "-0", "1E+2", "\"\\u0000\"", "\"\\ud800\"", "\"NaN\"", "\"-Infinity\"", "\"1e400s\"",
            "\"-1s\"", "\"9999-12-31T23:59:59.999999999Z\"", "\"0001-01-01T00:00:00Z\"", "\"10000-01-01T00:00:00Z\"",
            "\"AAAA\"", "\"-----BEGIN CERTIFICATE-----\\n-----END CERTIFICATE-----\"",
        ]

    /// A JSON text with a few changes; now and then it isn't JSON any more.
    package mutating func mutated(_ text: String) -> [UInt8] {
        var text = Array(text.utf8)
        for _ in 0...Int.random(in: 0...3, using: &bytes.random) {
            let parts = Self.parts(of: text)
            guard !parts.isEmpty, !bytes.random.once(in: 10) else {
                text = bytes.mutated(text)
                continue
            }
            change(&text, bytes.random.pick(parts), parts)
        }
        return text
    }

    private mutating func change(_ text: inout [UInt8], _ part: Range<Int>, _ parts: [Range<Int>]) {
        switch Int.random(in: 0..<8, using: &bytes.random) {
        case 0, 1: text.replaceSubrange(part, with: Array(bytes.random.pick(Self.values).utf8))
        case 2: text.replaceSubrange(part, with: text[bytes.random.pick(parts)])
        case 3: text.removeSubrange(part)
        case 4: text.insert(contentsOf: text[part] + [UInt8(ascii: ",")], at: part.lowerBound)
        case 5: text.replaceSubrange(part, with: Array("[".utf8) + text[part] + Array("]".utf8))
        case 6: text.replaceSubrange(part, with: Array("{\"a\":".utf8) + text[part] + Array("}".utf8))
        default:
            guard bytes.random.once(in: 8) else {
                return text.replaceSubrange(part, with: bytes.mutated(Array(text[part])))
            }
            let (open, close) = bytes.random.pick([("[", "]"), ("{\"mapValue\":{\"fields\":", "}}")])
            let depth = bytes.random.pick([20, 200, 511, 100_000])
            text.replaceSubrange(
                part,
                with: Array((String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8)
            )
        }
    }

    /// Where the strings, numbers, words, arrays and objects of a text are, as far as it is JSON.
    private static func parts(of text: [UInt8]) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var open: [Int] = []
        var place = 0
        while place < text.count {
            let start = place
            switch text[place] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                open.append(place)
                place += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                place += 1
                if let begun = open.popLast() { parts.append(begun..<place) }
            case UInt8(ascii: "\""):
                place += 1
                while place < text.count, text[place] != UInt8(ascii: "\"") {
                    place += text[place] == UInt8(ascii: "\\") ? 2 : 1
                }
                place = min(place + 1, text.count)
                parts.append(start..<place)
            case UInt8(ascii: ","), UInt8(ascii: ":"), 0x09, 0x0A, 0x0D, 0x20: place += 1
            default:
                while place < text.count, !Array("{}[]\",: \n".utf8).contains(text[place]) { place += 1 }
                parts.append(start..<max(place, start + 1))
                place = max(place, start + 1)
            }
        }
        return parts
    }
}
