/// Parses a text as a ``JSONValue``.
struct JSONValueReader {
    private var scanner: JSONScanner
    /// Whether wrapped 64-bit integers of client SDKs are replaced by the integers.
    private let unwrapsIntegers: Bool
    /// After an error, the path from the error to the root.
    private(set) var reversedPath: [PathKey] = []

    init(_ bytes: UnsafeRawBufferPointer, unwrapsIntegers: Bool) {
        scanner = JSONScanner(bytes)
        self.unwrapsIntegers = unwrapsIntegers
    }

    /// Parses a whole text.
    mutating func text() throws(JSONError) -> JSONValue {
        let value = try value(depth: 0)
        try scanner.end()
        return value
    }

    @inline(__always)
    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        scanner.skipSpace()
        guard let first = scanner.peek() else { throw JSONError(.missingValue, at: scanner.position) }
        switch first {
        case UInt8(ascii: "\""): return .string(try scanner.string())
        case UInt8(ascii: "-"), 0x30...0x39:
            switch try scanner.number() {
            case .integer(let value): return .integer(value)
            case .unsigned(let value): return .unsigned(value)
            case .double(let value): return .double(value)
            }
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "t"):
            try scanner.word("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try scanner.word("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try scanner.word("null")
            return .null
        default: throw JSONError(.notAValue, at: scanner.position)
        }
    }

    private func checkDepth(_ depth: Int) throws(JSONError) {
        guard depth < JSONScanner.maxDepth else { throw JSONError(.tooDeep, at: scanner.position) }
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
        try checkDepth(depth)
        scanner.position += 1
        var elements: [JSONValue] = []
        scanner.skipSpace()
        if scanner.take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            do throws(JSONError) {
                elements.append(try value(depth: depth + 1))
            } catch {
                reversedPath.append(.index(elements.count))
                throw error
            }
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "]")) else {
                throw JSONError(.missingElementSeparator, at: scanner.position)
            }
            return .array(elements)
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        try checkDepth(depth)
        scanner.position += 1
        var members = KeyedList<JSONValue>()
        var mayBeWrapper = false
        scanner.skipSpace()
        if scanner.take(UInt8(ascii: "}")) { return .object(JSONObject(members)) }
        while true {
            scanner.skipSpace()
            let place = scanner.position
            guard scanner.peek() == UInt8(ascii: "\"") else { throw JSONError(.missingKey, at: place) }
            let key = try scanner.string()
            try scanner.colon()
            if unwrapsIntegers, key.utf8.count == 5, key == "@type" { mayBeWrapper = true }
            do throws(JSONError) {
                guard members.appendIfNew(key, try value(depth: depth + 1)) else {
                    throw JSONError(.duplicateKey(key), at: place)
                }
            } catch {
                reversedPath.append(.name(key))
                throw error
            }
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "}")) else {
                throw JSONError(.missingMemberSeparator, at: scanner.position)
            }
            let object = JSONObject(members)
            return mayBeWrapper ? try IntegerWrapper.unwrap(object) ?? .object(object) : .object(object)
        }
    }
}
