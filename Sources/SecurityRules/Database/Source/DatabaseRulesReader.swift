/// Reads a rules file of the Realtime Database. Containers are nested at most ``RulesLimits/databaseDepth`` and a few deep.
struct DatabaseRulesReader {
    typealias Problem = DatabaseRulesFile.Problem

    private let bytes: [UInt8]
    private var place = 0
    private var depth = 0

    init(_ source: SourceText) { bytes = source.bytes }

    mutating func read() throws(Problem) -> DatabaseRulesFile {
        let value = try readValue()
        try skipBlanks()
        guard place == bytes.count else { throw problem("The file goes on after its end.") }
        return value
    }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private func problem(_ message: String, at offset: Int? = nil) -> Problem {
        Problem(offset: offset ?? place, message: message)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        place += 1
        return true
    }

    private mutating func skipBlanks() throws(Problem) {
        while let byte = next {
            if byte == 0x20 || (0x09...0x0D).contains(byte) {
                place += 1
            } else if byte == UInt8(ascii: "/") {
                try skipComment()
            } else if byte == 0xEF, place == 0, bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
                place += 3
            } else {
                return
            }
        }
    }

    private mutating func skipComment() throws(Problem) {
        let start = place
        place += 1
        if take("/") {
            while let byte = next, byte != UInt8(ascii: "\n") { place += 1 }
        } else if take("*") {
            while true {
                guard let byte = next else { throw problem("This comment has no end; close it with */.", at: start) }
                place += 1
                if byte == UInt8(ascii: "*"), take("/") { return }
            }
        } else {
            throw problem("Unexpected '/'.", at: start)
        }
    }

    // MARK: Values

    private mutating func readValue() throws(Problem) -> DatabaseRulesFile {
        try skipBlanks()
        let start = place
        guard let byte = next else { throw problem("The file ends where a value is expected.") }
        switch byte {
        case UInt8(ascii: "{"): return DatabaseRulesFile(value: try readObject(), offset: start)
        case UInt8(ascii: "["): return DatabaseRulesFile(value: try readArray(), offset: start)
        case UInt8(ascii: "\""): return DatabaseRulesFile(value: .string(try readString()), offset: start)
        default: break
        }
        while let byte = next, byte >= 0x80 || isWord(byte) { place += 1 }
        let word = String(decoding: bytes[start..<place], as: UTF8.self)
        switch word {
        case "true", "false": return DatabaseRulesFile(value: .boolean(word == "true"), offset: start)
        case "null": return DatabaseRulesFile(value: .other, offset: start)
        default:
            // Numbers that aren't JSON's are found here too: a rule can't be one anyway.
            guard byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte), Double(word) != nil else {
                throw problem(
                    byte == UInt8(ascii: "'") ? "Write strings in double quotes." : "Expected a value.", at: start)
            }
            return DatabaseRulesFile(value: .other, offset: start)
        }
    }

    private func isWord(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "+-._$".utf8.contains(byte)
    }

    private mutating func enter() throws(Problem) {
        depth += 1
        // The file, "rules" and the list of an index add to the nodes.
        guard depth <= RulesLimits.databaseDepth + 3 else {
            throw problem("The rules are nested more than \(RulesLimits.databaseDepth) deep.")
        }
        place += 1
    }

    private mutating func readObject() throws(Problem) -> DatabaseRulesFile.Value {
        try enter()
        defer { depth -= 1 }
        var members: [DatabaseRulesFile.Member] = []
        try skipBlanks()
        if take("}") { return .object([]) }
        while true {
            try skipBlanks()
            guard next == UInt8(ascii: "\"") else { throw problem("Expected a key in double quotes.") }
            let key = try readString()
            try skipBlanks()
            guard take(":") else { throw problem("Expected ':' after the key.") }
            members.append(DatabaseRulesFile.Member(key: key, value: try readValue()))
            try skipBlanks()
            if take("}") { return .object(members) }
            guard take(",") else { throw problem("Expected ',' or '}'.") }
        }
    }

    private mutating func readArray() throws(Problem) -> DatabaseRulesFile.Value {
        try enter()
        defer { depth -= 1 }
        var elements: [DatabaseRulesFile] = []
        try skipBlanks()
        if take("]") { return .array([]) }
        while true {
            elements.append(try readValue())
            try skipBlanks()
            if take("]") { return .array(elements) }
            guard take(",") else { throw problem("Expected ',' or ']'.") }
        }
    }

    // MARK: Strings

    private mutating func readString() throws(Problem) -> RulesFileString {
        let quote = place
        place += 1
        var text = RulesFileString(bytes: [], start: place)
        while let byte = next {
            let start = place
            switch byte {
            case UInt8(ascii: "\""):
                text.offsets?.append(Int32(start))
                place += 1
                return text
            case UInt8(ascii: "\\"):
                if text.offsets == nil { text.offsets = text.bytes.indices.map { Int32(text.start + $0) } }
                place += 1
                let character = try readEscape(start)
                for byte in String(character).utf8 {
                    text.bytes.append(byte)
                    text.offsets?.append(Int32(start))
                }
            default:
                text.bytes.append(byte)
                text.offsets?.append(Int32(start))
                place += 1
            }
        }
        throw problem("This string has no end; close it with \".", at: quote)
    }

    private mutating func readEscape(_ start: Int) throws(Problem) -> Character {
        guard let letter = next else { throw problem("The file ends within an escape.", at: start) }
        place += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Character(UnicodeScalar(letter))
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "u"):
            var code = try readCode(start)
            if (0xD800..<0xDC00).contains(code), take("\\"), take("u") {
                let low = try readCode(start)
                guard (0xDC00..<0xE000).contains(low) else { throw problem("Half of a surrogate pair.", at: start) }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = UnicodeScalar(code) else { throw problem("Half of a surrogate pair.", at: start) }
            return Character(scalar)
        default:
            throw problem("This is not an escape of JSON; write \\\\ for a backslash.", at: start)
        }
    }

    private mutating func readCode(_ start: Int) throws(Problem) -> UInt32 {
        let end = place + 4
        guard end <= bytes.count, bytes[place..<end].allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
            let code = UInt32(String(decoding: bytes[place..<end], as: UTF8.self), radix: 16)
        else { throw problem("\\u needs four hexadecimal digits.", at: start) }
        place = end
        return code
    }
}
