/// Reads JSON as RFC 8259 has it, from bytes in one piece.
///
/// Nothing is trusted: depth is bounded, texts are checked to be UTF-8, nothing may follow the value.
struct JSONParser {
    /// Arrays and objects in one another; more is an error, so that no text can overflow the stack.
    static let maxDepth = 512

    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0
    /// Whether the wrappers in which client SDKs send 64-bit integers become the integers.
    private let unwrapsIntegers: Bool

    init(_ bytes: UnsafeBufferPointer<UInt8>, unwrapsIntegers: Bool) {
        self.bytes = bytes
        self.unwrapsIntegers = unwrapsIntegers
    }

    /// - Throws: where the bytes are anything else than one JSON value with white space around it.
    mutating func parse() throws(JSONError) -> JSONValue {
        let value = try value(depth: 0)
        skipSpace()
        guard position == bytes.count else { throw error("nothing may follow the JSON value") }
        return value
    }

    func error(_ what: String) -> JSONError { error(what, at: position) }

    func error(_ what: String, at position: Int) -> JSONError {
        JSONError(position < bytes.count ? "\(what), at byte \(position)" : "\(what), at the end")
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        skipSpace()
        guard position < bytes.count else { throw error("a value is missing") }
        switch bytes[position] {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: throw error("no value begins like this")
        }
    }

    private mutating func word(_ text: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        let length = text.utf8CodeUnitCount
        guard bytes.count - position >= length else { throw error("no value begins like this") }
        for offset in 0..<length where bytes[position + offset] != text.utf8Start[offset] {
            throw error("no value begins like this")
        }
        position += length
        return value
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
        guard depth < Self.maxDepth else { throw error("the JSON is nested more than \(Self.maxDepth) deep") }
        position += 1
        var elements: [JSONValue] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            do {
                elements.append(try value(depth: depth + 1))
            } catch {
                throw unwrapsIntegers ? error.inside(.index(elements.count)) : error
            }
            skipSpace()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "]")) else { throw error("an array's element is followed by neither , nor ]") }
            return .array(elements)
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        guard depth < Self.maxDepth else { throw error("the JSON is nested more than \(Self.maxDepth) deep") }
        position += 1
        var members = KeyedList<JSONValue>()
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object(JSONObject(members)) }
        while true {
            skipSpace()
            guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
                throw error("an object's key is missing")
            }
            let key = try string()
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw error("a key is not followed by :") }
            do {
                members.set(key, try value(depth: depth + 1))
            } catch {
                throw unwrapsIntegers ? error.inside(.name(key)) : error
            }
            skipSpace()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "}")) else { throw error("an object's member is followed by neither , nor }") }
            let object = JSONObject(members)
            return unwrapsIntegers ? try IntegerWrapper.unwrap(object) ?? .object(object) : .object(object)
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }
}

extension [UInt8] {
    func parseJSON(unwrappingIntegers unwraps: Bool) throws(JSONError) -> JSONValue {
        let parsed: Result<JSONValue, JSONError> = withUnsafeBufferPointer { buffer in
            var parser = JSONParser(buffer, unwrapsIntegers: unwraps)
            return Result { () throws(JSONError) in try parser.parse() }
        }
        return try parsed.get()
    }
}
