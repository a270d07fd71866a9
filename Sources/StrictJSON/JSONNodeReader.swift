import CFunctionsSystem

extension JSONNode {
    /// The number of values that a text may have. Values take many times the memory of their text.
    package static let maxValues = 2_000_000

    /// Parses a JSON text.
    ///
    /// - Parameter maxValues: keys don't count.
    /// - Throws: The first error in the text.
    package init(
        parsing bytes: UnsafeRawBufferPointer, maxValues: Int = JSONNode.maxValues
    ) throws(JSONProblem) {
        var reader = JSONNodeReader(bytes, maxValues: maxValues)
        do throws(JSONError) {
            self = try reader.text()
        } catch {
            throw JSONProblem(offset: error.offset ?? 0, message: error.message)
        }
    }

    /// Parses a JSON text.
    ///
    /// - Parameter maxValues: keys don't count.
    /// - Throws: The first error in the text.
    package init(parsing bytes: [UInt8], maxValues: Int = JSONNode.maxValues) throws(JSONProblem) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(JSONProblem) in try JSONNode(parsing: buffer, maxValues: maxValues) }
        }
        self = try result.get()
    }
}

/// Parses a text as ``JSONNode``s.
private struct JSONNodeReader {
    private var scanner: JSONScanner
    private var depth = 0
    private var values = 0
    private let maxValues: Int

    init(_ bytes: UnsafeRawBufferPointer, maxValues: Int) {
        scanner = JSONScanner(bytes)
        self.maxValues = maxValues
    }

    mutating func text() throws(JSONError) -> JSONNode {
        let node = try value()
        try scanner.end()
        return node
    }

    private mutating func value() throws(JSONError) -> JSONNode {
        scanner.skipSpace()
        let start = scanner.position
        guard let first = scanner.peek() else { throw JSONError(.missingValue, at: start) }
        functions_step()
        values += 1
        guard values <= maxValues else { throw JSONError(.tooManyValues(maxValues), at: start) }
        let kind: JSONNode.Kind
        switch first {
        case UInt8(ascii: "\""): kind = .string(try scanner.string())
        case UInt8(ascii: "-"), 0x30...0x39:
            switch try scanner.number() {
            case .integer(let value): kind = .integer(value)
            case .unsigned(let value): kind = .double(Double(value))
            case .double(let value): kind = .double(value)
            }
        case UInt8(ascii: "{"):
            try enter()
            kind = .object(try members())
            depth -= 1
        case UInt8(ascii: "["):
            try enter()
            kind = .array(try elements())
            depth -= 1
        case UInt8(ascii: "t"):
            try scanner.word("true")
            kind = .boolean(true)
        case UInt8(ascii: "f"):
            try scanner.word("false")
            kind = .boolean(false)
        case UInt8(ascii: "n"):
            try scanner.word("null")
            kind = .null
        default: throw JSONError(.notAValue, at: start)
        }
        return JSONNode(kind: kind, offset: start)
    }

    private mutating func enter() throws(JSONError) {
        guard depth < JSONScanner.maxDepth else { throw JSONError(.tooDeep, at: scanner.position) }
        depth += 1
        scanner.position += 1
        scanner.skipSpace()
    }

    private mutating func elements() throws(JSONError) -> [JSONNode] {
        var elements: [JSONNode] = []
        if scanner.take(UInt8(ascii: "]")) { return elements }
        while true {
            elements.append(try value())
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "]")) else {
                throw JSONError(.missingElementSeparator, at: scanner.position)
            }
            return elements
        }
    }

    private mutating func members() throws(JSONError) -> [JSONNode.Member] {
        var members: [JSONNode.Member] = []
        if scanner.take(UInt8(ascii: "}")) { return members }
        while true {
            scanner.skipSpace()
            let start = scanner.position
            guard scanner.peek() == UInt8(ascii: "\"") else { throw JSONError(.missingKey, at: start) }
            let key = try scanner.string()
            try scanner.colon()
            members.append(.init(key: key, offset: start, value: try value()))
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "}")) else {
                throw JSONError(.missingMemberSeparator, at: scanner.position)
            }
            try refuseDuplicates(members)
            return members
        }
    }

    /// Compares few keys directly, and finds the repeated one among many by their hashes.
    private func refuseDuplicates(_ members: [JSONNode.Member]) throws(JSONError) {
        guard members.count > 12 else {
            for (index, member) in members.enumerated() {
                for earlier in members[..<index] where earlier.key == member.key { throw duplicate(member, earlier) }
            }
            return
        }
        var seen: [String: Int] = [:]
        seen.reserveCapacity(members.count)
        for (index, member) in members.enumerated() {
            if let earlier = seen.updateValue(index, forKey: member.key) { throw duplicate(member, members[earlier]) }
        }
    }

    private func duplicate(_ member: JSONNode.Member, _ earlier: JSONNode.Member) -> JSONError {
        let line = JSONPosition(of: earlier.offset, in: scanner.bytes).line
        return JSONError(.duplicateKey(member.key, firstLine: line), at: member.offset)
    }
}
