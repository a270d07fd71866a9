import TextFormats

/// Reads the words of a rules file one after the other.
struct Lexer {
    private let bytes: [UInt8]
    private(set) var position = 0
    var diagnostics: Diagnostics

    init(_ source: SourceText) {
        bytes = source.bytes
        diagnostics = Diagnostics(source)
    }

    private func byte(_ ahead: Int = 0) -> UInt8? {
        position + ahead < bytes.count ? bytes[position + ahead] : nil
    }

    /// The next word.
    mutating func next() -> Token {
        skipBlanks()
        let start = position
        guard let first = byte() else { return Token(kind: .end, range: SourceRange(start, start)) }
        let kind: Token.Kind
        switch first {
        case UInt8(ascii: "b") where byte(1) == UInt8(ascii: "'") || byte(1) == UInt8(ascii: "\""):
            position += 1
            kind = .bytes(quoted(isBytes: true))
        case UInt8(ascii: "'"), UInt8(ascii: "\""): kind = text(quoted(isBytes: false), start)
        case let byte where Self.startsName(byte): kind = .name(name())
        case let byte where Self.isDigit(byte): kind = number()
        default: kind = symbol()
        }
        return Token(kind: kind, range: SourceRange(start, position))
    }

    /// What stands between two slashes of a path, from `start` on: letters, digits and other characters up to a blank, a
    /// slash, a comma, a bracket or an operator. Parentheses belong to it in pairs, so that `(default)` can be written.
    /// Other characters are percent-encoded, as in a form: `/my%20notes/{note}`.
    mutating func pathSegment(from start: Int) -> (text: String, end: Int) {
        position = start
        var depth = 0
        while let byte = byte() {
            if byte == UInt8(ascii: "(") {
                depth += 1
            } else if byte == UInt8(ascii: ")") {
                guard depth > 0 else { break }
                depth -= 1
            } else {
                guard Self.startsName(byte) || Self.isDigit(byte) || byte >= 0x80 || "-.~%@+".utf8.contains(byte) else {
                    break
                }
            }
            position += 1
        }
        let text = bytes[start..<position]
        if let decoded = PercentEncoding.decoded(bytes: text, plusIsSpace: true) { return (decoded, position) }
        let shown = String(decoding: text, as: UTF8.self)
        diagnostics.error(start, "'\(shown)' isn't percent-encoded; write a blank as %20 and a percent sign as %25")
        return (shown, position)
    }

    /// Whether the byte at a place is `wanted`.
    func hasByte(_ wanted: Character, at offset: Int) -> Bool {
        offset < bytes.count && bytes[offset] == wanted.asciiValue
    }

    // MARK: Blanks and comments

    private mutating func skipBlanks() {
        while let first = byte() {
            if first == 0x20 || (0x09...0x0D).contains(first) {
                position += 1
            } else if first == UInt8(ascii: "/"), byte(1) == UInt8(ascii: "/") {
                while let next = byte(), next != UInt8(ascii: "\n") { position += 1 }
            } else if first == UInt8(ascii: "/"), byte(1) == UInt8(ascii: "*") {
                let start = position
                position += 2
                while position < bytes.count, !(byte() == UInt8(ascii: "*") && byte(1) == UInt8(ascii: "/")) {
                    position += 1
                }
                if position >= bytes.count { diagnostics.error(start, "this comment has no end; close it with */") }
                position = min(position + 2, bytes.count)
            } else {
                return
            }
        }
    }

    // MARK: Names and numbers

    private static func startsName(_ byte: UInt8) -> Bool {
        (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z") || byte == UInt8(ascii: "_")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    private mutating func name() -> String {
        let start = position
        while let next = byte(), Self.startsName(next) || Self.isDigit(next) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func number() -> Token.Kind {
        let start = position
        while let next = byte(), Self.isDigit(next) { position += 1 }
        var isFloat = false
        if byte() == UInt8(ascii: "."), let digit = byte(1), Self.isDigit(digit) {
            isFloat = true
            position += 1
            while let next = byte(), Self.isDigit(next) { position += 1 }
        }
        if let next = byte(), Self.startsName(next) {
            _ = name()
            diagnostics.error(
                start,
                "'\(String(decoding: bytes[start..<position], as: UTF8.self))' is not a number; write it in decimal")
            return .invalid
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isFloat, let value = Double(text) { return .float(value) }
        // After a minus it is an integer: the parser looks at that.
        if text == "9223372036854775808" { return .integer(.min) }
        guard let value = Int64(text) else {
            diagnostics.error(start, "\(text) is larger than 9223372036854775807, the largest integer")
            return .invalid
        }
        return .integer(value)
    }

    // MARK: Texts

    private mutating func text(_ bytes: [UInt8], _ start: Int) -> Token.Kind {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            diagnostics.error(start, "this string isn't text in UTF-8")
            return .invalid
        }
        return .string(text)
    }

    /// The content of what stands in quotes, from the first quote to the last.
    private mutating func quoted(isBytes: Bool) -> [UInt8] {
        let start = position
        let quote = bytes[position]
        position += 1
        var content: [UInt8] = []
        while let next = byte(), next != UInt8(ascii: "\n") {
            position += 1
            if next == quote { return content }
            if next == UInt8(ascii: "\\") { escape(&content, isBytes: isBytes) } else { content.append(next) }
        }
        diagnostics.error(start, "this string has no end; close it with \(quote == UInt8(ascii: "'") ? "'" : "\"")")
        return content
    }

    private mutating func escape(_ content: inout [UInt8], isBytes: Bool) {
        let start = position - 1
        guard let letter = byte() else { return }
        position += 1
        switch letter {
        case UInt8(ascii: "n"): content.append(0x0A)
        case UInt8(ascii: "r"): content.append(0x0D)
        case UInt8(ascii: "t"): content.append(0x09)
        case UInt8(ascii: "b"): content.append(0x08)
        case UInt8(ascii: "f"): content.append(0x0C)
        case UInt8(ascii: "v"): content.append(0x0B)
        case UInt8(ascii: "a"): content.append(0x07)
        case UInt8(ascii: "\\"), UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"), UInt8(ascii: "?"):
            content.append(letter)
        case UInt8(ascii: "x"), UInt8(ascii: "X"): code(2, 16, start, &content, isBytes)
        case UInt8(ascii: "u"): code(4, 16, start, &content, isBytes)
        case UInt8(ascii: "U"): code(8, 16, start, &content, isBytes)
        case UInt8(ascii: "0")...UInt8(ascii: "3"):
            position -= 1
            code(3, 8, start, &content, isBytes)
        default:
            diagnostics.error(
                start, "\\\(Character(UnicodeScalar(letter))) is not an escape; write \\\\ for a backslash")
        }
    }

    private mutating func code(_ digits: Int, _ radix: Int, _ start: Int, _ content: inout [UInt8], _ isBytes: Bool) {
        let end = min(position + digits, bytes.count)
        let text = String(decoding: bytes[position..<end], as: UTF8.self)
        guard text.utf8.count == digits, let value = UInt32(text, radix: radix), let scalar = UnicodeScalar(value)
        else {
            diagnostics.error(start, "this escape needs \(digits) digits of a character's code")
            return
        }
        position = end
        if isBytes, value < 256 { content.append(UInt8(value)) } else { content += String(Character(scalar)).utf8 }
    }

    // MARK: Symbols

    private mutating func symbol() -> Token.Kind {
        let start = position
        for length in [2, 1] where position + length <= bytes.count {
            let text = String(decoding: bytes[position..<position + length], as: UTF8.self)
            guard let symbol = Token.Symbol(rawValue: text) else { continue }
            position += length
            return .symbol(symbol)
        }
        // A whole character, and all that follow it and can't be read either.
        position += 1
        while let next = byte(), next & 0xC0 == 0x80 { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        diagnostics.error(start, "'\(text)' is not part of the language")
        return .invalid
    }
}
