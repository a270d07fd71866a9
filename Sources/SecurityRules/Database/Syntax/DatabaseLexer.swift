/// Reads the words of an expression one after the other.
struct DatabaseLexer {
    typealias Problem = DatabaseExpressionProblem

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private func byte(_ ahead: Int = 0) -> UInt8? {
        position + ahead < bytes.count ? bytes[position + ahead] : nil
    }

    private func text(_ start: Int) -> String { String(decoding: bytes[start..<position], as: UTF8.self) }

    mutating func next() throws(Problem) -> DatabaseToken {
        while let byte = byte(), byte == 0x20 || (0x09...0x0D).contains(byte) { position += 1 }
        let start = position
        guard let first = byte() else { return DatabaseToken(kind: .end, start: start, end: start) }
        let kind: DatabaseToken.Kind
        switch first {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): kind = .string(try string())
        case _ where Self.isDigit(first) || first == UInt8(ascii: ".") && byte(1).map(Self.isDigit) == true:
            kind = try number()
        case _ where Self.startsName(first):
            while let next = byte(), Self.startsName(next) || Self.isDigit(next) { position += 1 }
            kind = .name(text(start))
        default: kind = .symbol(try symbol())
        }
        return DatabaseToken(kind: kind, start: start, end: position)
    }

    private static func startsName(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte & 0xDF) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$") || byte >= 0x80
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    private mutating func skipDigits() {
        while let next = byte(), Self.isDigit(next) { position += 1 }
    }

    private mutating func number() throws(Problem) -> DatabaseToken.Kind {
        let start = position
        skipDigits()
        if byte() == UInt8(ascii: ".") {
            position += 1
            skipDigits()
        }
        if let mark = byte(), mark | 0x20 == UInt8(ascii: "e") {
            let sign = byte(1) == UInt8(ascii: "-") || byte(1) == UInt8(ascii: "+") ? 1 : 0
            if byte(1 + sign).map(Self.isDigit) == true {
                position += 1 + sign
                skipDigits()
            }
        }
        let text = text(start)
        if let next = byte(), Self.startsName(next) {
            throw Problem(offset: start, message: "'\(text)' goes on as a name; write numbers in decimal.")
        }
        if let value = Int64(text) { return .integer(value) }
        guard let value = Double(text.hasSuffix(".") ? text + "0" : text), value.isFinite else {
            throw Problem(offset: start, message: "This number is too large.")
        }
        return .double(value)
    }

    // MARK: Strings

    private mutating func string() throws(Problem) -> String {
        let start = position
        let quote = bytes[position]
        position += 1
        var content: [UInt8] = []
        while let next = byte(), next != UInt8(ascii: "\n"), next != UInt8(ascii: "\r") {
            position += 1
            if next == quote { return String(decoding: content, as: UTF8.self) }
            if next == UInt8(ascii: "\\") { try escape(&content) } else { content.append(next) }
        }
        throw Problem(offset: start, message: "This string has no end; close it with \(quote == 0x27 ? "'" : "\"").")
    }

    private mutating func escape(_ content: inout [UInt8]) throws(Problem) {
        let start = position - 1
        guard let letter = byte() else {
            throw Problem(offset: start, message: "The expression ends within an escape.")
        }
        position += 1
        switch letter {
        case UInt8(ascii: "n"): content.append(0x0A)
        case UInt8(ascii: "r"): content.append(0x0D)
        case UInt8(ascii: "t"): content.append(0x09)
        case UInt8(ascii: "b"): content.append(0x08)
        case UInt8(ascii: "f"): content.append(0x0C)
        case UInt8(ascii: "v"): content.append(0x0B)
        case UInt8(ascii: "x"): try code(2, start, &content)
        case UInt8(ascii: "u"): try code(4, start, &content)
        case _ where Self.isDigit(letter) || Self.startsName(letter) && letter < 0x80:
            throw Problem(
                offset: start,
                message: "\\\(Character(UnicodeScalar(letter))) is not an escape; write \\\\ for a backslash.")
        default: content.append(letter)
        }
    }

    private mutating func code(_ digits: Int, _ start: Int, _ content: inout [UInt8]) throws(Problem) {
        var value = try hexadecimal(digits, start)
        if (0xD800..<0xDC00).contains(value), byte() == UInt8(ascii: "\\"), byte(1) == UInt8(ascii: "u") {
            position += 2
            let low = try hexadecimal(4, start)
            guard (0xDC00..<0xE000).contains(low) else {
                throw Problem(offset: start, message: "Half of a surrogate pair.")
            }
            value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = UnicodeScalar(value) else {
            throw Problem(offset: start, message: "Half of a surrogate pair.")
        }
        content += String(Character(scalar)).utf8
    }

    private mutating func hexadecimal(_ digits: Int, _ start: Int) throws(Problem) -> UInt32 {
        let end = position + digits
        guard end <= bytes.count, bytes[position..<end].allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
            let value = UInt32(String(decoding: bytes[position..<end], as: UTF8.self), radix: 16)
        else { throw Problem(offset: start, message: "This escape needs \(digits) hexadecimal digits.") }
        position = end
        return value
    }

    // MARK: Symbols and regular expressions

    private mutating func symbol() throws(Problem) -> DatabaseToken.Symbol {
        let start = position
        for length in [3, 2, 1] where start + length <= bytes.count {
            position = start + length
            guard let symbol = DatabaseToken.Symbol(rawValue: text(start)) else { continue }
            if length == 1, byte() == bytes[start], "+-*".utf8.contains(bytes[start]) { break }
            return symbol
        }
        let message =
            switch bytes[start] {
            case UInt8(ascii: "="): "Assignments aren't possible; compare with ==."
            case UInt8(ascii: ";"): "A rule is one expression without ';'."
            default:
                byte() == bytes[start] && "+-*".utf8.contains(bytes[start])
                    ? "'\(text(start))\(text(start))' is not an operator."
                    : "'\(Character(UnicodeScalar(bytes[start])))' is not part of the language."
            }
        throw Problem(offset: start, message: message)
    }

    /// The regular expression that begins with the slash at `start`: what is between the slashes, and the flags.
    mutating func pattern(from start: Int) throws(Problem) -> (pattern: String, flags: String, end: Int) {
        position = start + 1
        var isInClass = false
        while let next = byte(), next != UInt8(ascii: "\n") {
            position += 1
            switch next {
            case UInt8(ascii: "\\"): if let skipped = byte(), skipped != UInt8(ascii: "\n") { position += 1 }
            case UInt8(ascii: "["): isInClass = true
            case UInt8(ascii: "]"): isInClass = false
            case UInt8(ascii: "/") where !isInClass:
                let end = position - 1
                while let flag = byte(), Self.startsName(flag) || Self.isDigit(flag) { position += 1 }
                return (
                    String(decoding: bytes[start + 1..<end], as: UTF8.self), text(end + 1), position
                )
            default: break
            }
        }
        throw Problem(offset: start, message: "This regular expression has no end; close it with '/'.")
    }
}
