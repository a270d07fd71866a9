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
    mutating func text() throws(JSONSyntaxError) -> JSONValue {
        let value = try value(depth: 0)
        try scanner.end()
        return value
    }

    private mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        scanner.skipSpace()
        guard let first = scanner.peek() else { throw JSONSyntaxError(.missingValue, offset: scanner.position) }
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
        default: throw JSONSyntaxError(.notAValue, offset: scanner.position)
        }
    }

    private func checkDepth(_ depth: Int) throws(JSONSyntaxError) {
        guard depth < JSONScanner.maxDepth else { throw JSONSyntaxError(.tooDeep, offset: scanner.position) }
    }

    private mutating func array(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        try checkDepth(depth)
        scanner.position += 1
        var elements: [JSONValue] = []
        scanner.skipSpace()
        if scanner.take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            do throws(JSONSyntaxError) {
                elements.append(try value(depth: depth + 1))
            } catch {
                reversedPath.append(.index(elements.count))
                throw error
            }
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "]")) else {
                throw JSONSyntaxError(.missingElementSeparator, offset: scanner.position)
            }
            return .array(elements)
        }
    }

    private mutating func object(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        try checkDepth(depth)
        let start = scanner.position
        scanner.position += 1
        var members = KeyedList<JSONValue>()
        var mayBeWrapper = false
        scanner.skipSpace()
        if scanner.take(UInt8(ascii: "}")) { return .object(JSONObject(members)) }
        while true {
            scanner.skipSpace()
            let place = scanner.position
            guard scanner.peek() == UInt8(ascii: "\"") else { throw JSONSyntaxError(.missingKey, offset: place) }
            let key = try scanner.string()
            try scanner.colon()
            if unwrapsIntegers, key.utf8.count == 5, key == "@type" { mayBeWrapper = true }
            do throws(JSONSyntaxError) {
                guard members.appendIfNew(key, try value(depth: depth + 1)) else {
                    throw JSONSyntaxError(.duplicateKey(first: nil), offset: place)
                }
            } catch {
                reversedPath.append(.name(key))
                throw error
            }
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "}")) else {
                throw JSONSyntaxError(.missingMemberSeparator, offset: scanner.position)
            }
            let object = JSONObject(members)
            return mayBeWrapper ? try IntegerWrapper.unwrap(object, at: start) ?? .object(object) : .object(object)
        }
    }
}
