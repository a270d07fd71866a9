/// Reads JSON texts (RFC 8259) strictly into ``JSONNode``s.
///
/// The text is hostile: nesting is bounded, so that the parser's own recursion is; a key given twice, invalid UTF-8,
/// a lone surrogate and a number beyond a double are refused.
package struct JSONParser {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var depth = 0

    /// More than the deepest document Firestore takes can need.
    static let maxDepth = 256

    private init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// - Throws: the first problem of the text.
    package static func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONProblem) -> JSONNode {
        var parser = JSONParser(bytes)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { parser.position = 3 }
        let node = try parser.value()
        parser.skipSpace()
        guard parser.position == bytes.count else { throw parser.problem("text goes on after the end of the value") }
        return node
    }

    /// - Throws: the first problem of the text.
    package static func parse(_ bytes: [UInt8]) throws(JSONProblem) -> JSONNode {
        let result = bytes.withUnsafeBufferPointer { buffer -> Result<JSONNode, JSONProblem> in
            do throws(JSONProblem) { return .success(try parse(buffer)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private func problem(_ message: String, at offset: Int? = nil) -> JSONProblem {
        JSONProblem(offset: offset ?? position, message: message)
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func value() throws(JSONProblem) -> JSONNode {
        skipSpace()
        let start = position
        guard let first = peek() else { throw problem("the text ends where a value should be") }
        let kind: JSONNode.Kind
        switch first {
        case UInt8(ascii: "{"): kind = try nested { (parser) throws(JSONProblem) in .object(try parser.members()) }
        case UInt8(ascii: "["): kind = try nested { (parser) throws(JSONProblem) in .array(try parser.elements()) }
        case UInt8(ascii: "\""): kind = .string(try string())
        case UInt8(ascii: "t"): kind = try word("true", .boolean(true))
        case UInt8(ascii: "f"): kind = try word("false", .boolean(false))
        case UInt8(ascii: "n"): kind = try word("null", .null)
        case UInt8(ascii: "-"), 48...57: kind = try number()
        default: throw problem("a value should be here")
        }
        return JSONNode(kind: kind, offset: start)
    }

    private mutating func nested(
        _ body: (inout JSONParser) throws(JSONProblem) -> JSONNode.Kind
    ) throws(JSONProblem) -> JSONNode.Kind {
        guard depth < Self.maxDepth else { throw problem("nested more than \(Self.maxDepth) deep, the limit") }
        depth += 1
        position += 1
        let kind = try body(&self)
        depth -= 1
        return kind
    }

    private mutating func word(_ word: StaticString, _ kind: JSONNode.Kind) throws(JSONProblem) -> JSONNode.Kind {
        let expected = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard bytes[position...].starts(with: expected) else { throw problem("a value should be here") }
        position += expected.count
        return kind
    }

    private mutating func elements() throws(JSONProblem) -> [JSONNode] {
        var elements: [JSONNode] = []
        skipSpace()
        if peek() == UInt8(ascii: "]") {
            position += 1
            return elements
        }
        while true {
            elements.append(try value())
            skipSpace()
            switch peek() {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "]"):
                position += 1
                return elements
            default: throw problem("a comma or ] should be here")
            }
        }
    }

    private mutating func members() throws(JSONProblem) -> [JSONNode.Member] {
        var members: [JSONNode.Member] = []
        skipSpace()
        if peek() == UInt8(ascii: "}") {
            position += 1
            return members
        }
        while true {
            skipSpace()
            let start = position
            guard peek() == UInt8(ascii: "\"") else { throw problem("a key in quotes should be here") }
            let key = try string()
            skipSpace()
            guard peek() == UInt8(ascii: ":") else { throw problem("a colon should be here") }
            position += 1
            members.append(.init(key: key, offset: start, value: try value()))
            skipSpace()
            switch peek() {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "}"):
                position += 1
                try refuseDuplicates(members)
                return members
            default: throw problem("a comma or } should be here")
            }
        }
    }

    private func refuseDuplicates(_ members: [JSONNode.Member]) throws(JSONProblem) {
        func twice(_ first: JSONNode.Member, _ second: JSONNode.Member) -> JSONProblem {
            let line = JSONPosition(of: first.offset, in: bytes).line
            return problem("the key \"\(second.key)\" stands here and on line \(line); keep one", at: second.offset)
        }
        guard members.count > 12 else {
            for (index, member) in members.enumerated() {
                for earlier in members[..<index] where earlier.key == member.key { throw twice(earlier, member) }
            }
            return
        }
        var seen: [String: Int] = [:]
        seen.reserveCapacity(members.count)
        for (index, member) in members.enumerated() {
            if let earlier = seen.updateValue(index, forKey: member.key) { throw twice(members[earlier], member) }
        }
    }

    private mutating func number() throws(JSONProblem) -> JSONNode.Kind {
        let start = position
        func digits(_ parser: inout JSONParser) -> Int {
            let from = parser.position
            while let byte = parser.peek(), (48...57).contains(byte) { parser.position += 1 }
            return parser.position - from
        }
        if peek() == UInt8(ascii: "-") { position += 1 }
        let integerStart = position
        let integerDigits = digits(&self)
        guard integerDigits > 0, integerDigits == 1 || bytes[integerStart] != 48 else {
            throw problem("not a number as JSON writes it", at: start)
        }
        var isInteger = true
        if peek() == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            guard digits(&self) > 0 else { throw problem("not a number as JSON writes it", at: start) }
        }
        if let byte = peek(), byte | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if let sign = peek(), sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { position += 1 }
            guard digits(&self) > 0 else { throw problem("not a number as JSON writes it", at: start) }
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        // -0 is a double: as an integer it would lose its sign.
        if isInteger, text != "-0", let integer = Int64(text) { return .integer(integer) }
        guard let double = Double(text), double.isFinite else {
            throw problem("a number beyond what a double can hold", at: start)
        }
        return .double(double)
    }

    private mutating func string() throws(JSONProblem) -> String {
        let start = position
        position += 1
        let contentStart = position
        while let byte = peek(), byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
        if peek() == UInt8(ascii: "\"") {
            let content = bytes[contentStart..<position]
            position += 1
            guard let string = String(validating: content, as: UTF8.self) else {
                throw problem("a string that is not valid UTF-8", at: start)
            }
            return string
        }
        var content = Array(bytes[contentStart..<position])
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                guard let string = String(validating: content, as: UTF8.self) else {
                    throw problem("a string that is not valid UTF-8", at: start)
                }
                return string
            case UInt8(ascii: "\\"):
                try escape(into: &content)
            case 0..<0x20:
                throw problem("a control character inside a string; write it as an escape")
            default:
                content.append(byte)
                position += 1
            }
        }
        throw problem("a string without its closing quote", at: start)
    }

    private mutating func escape(into content: inout [UInt8]) throws(JSONProblem) {
        let start = position
        position += 1
        guard let byte = peek() else { throw problem("a string without its closing quote", at: start) }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(byte)
        case UInt8(ascii: "b"): content.append(0x08)
        case UInt8(ascii: "f"): content.append(0x0C)
        case UInt8(ascii: "n"): content.append(0x0A)
        case UInt8(ascii: "r"): content.append(0x0D)
        case UInt8(ascii: "t"): content.append(0x09)
        case UInt8(ascii: "u"):
            var code = UInt32(try hex(from: start))
            if (0xD800...0xDBFF).contains(code), peek() == UInt8(ascii: "\\"), position + 1 < bytes.count,
                bytes[position + 1] == UInt8(ascii: "u")
            {
                position += 2
                let low = UInt32(try hex(from: start))
                guard (0xDC00...0xDFFF).contains(low) else { throw problem("half of a surrogate pair", at: start) }
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw problem("half of a surrogate pair", at: start) }
            content.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
        default: throw problem("no escape that JSON knows", at: start)
        }
    }

    private mutating func hex(from start: Int) throws(JSONProblem) -> UInt16 {
        guard position + 4 <= bytes.count,
            bytes[position..<position + 4].allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let code = UInt16(String(decoding: bytes[position..<position + 4], as: UTF8.self), radix: 16)
        else { throw problem("\\u needs four hexadecimal digits", at: start) }
        position += 4
        return code
    }
}
