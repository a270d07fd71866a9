extension JSONNode {
    /// Parses a JSON text.
    ///
    /// - Throws: The first error in the text.
    package init(parsing bytes: UnsafeRawBufferPointer) throws(JSONProblem) {
        var reader = JSONNodeReader(bytes)
        do throws(JSONSyntaxError) {
            self = try reader.text()
        } catch {
            throw JSONProblem(offset: error.offset, message: error.message(in: bytes))
        }
    }

    /// Parses a JSON text.
    ///
    /// - Throws: The first error in the text.
    package init(parsing bytes: [UInt8]) throws(JSONProblem) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(JSONProblem) in try JSONNode(parsing: buffer) }
        }
        self = try result.get()
    }
}

/// Parses a text as ``JSONNode``s.
private struct JSONNodeReader {
    private var scanner: JSONScanner
    private var depth = 0

    init(_ bytes: UnsafeRawBufferPointer) { scanner = JSONScanner(bytes) }

    mutating func text() throws(JSONSyntaxError) -> JSONNode {
        let node = try value()
        try scanner.end()
        return node
    }

    private mutating func value() throws(JSONSyntaxError) -> JSONNode {
        scanner.skipSpace()
        let start = scanner.position
        guard let first = scanner.peek() else { throw JSONSyntaxError(.missingValue, offset: start) }
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
        default: throw JSONSyntaxError(.notAValue, offset: start)
        }
        return JSONNode(kind: kind, offset: start)
    }

    private mutating func enter() throws(JSONSyntaxError) {
        guard depth < JSONScanner.maxDepth else { throw JSONSyntaxError(.tooDeep, offset: scanner.position) }
        depth += 1
        scanner.position += 1
        scanner.skipSpace()
    }

    private mutating func elements() throws(JSONSyntaxError) -> [JSONNode] {
        var elements: [JSONNode] = []
        if scanner.take(UInt8(ascii: "]")) { return elements }
        while true {
            elements.append(try value())
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "]")) else {
                throw JSONSyntaxError(.missingElementSeparator, offset: scanner.position)
            }
            return elements
        }
    }

    private mutating func members() throws(JSONSyntaxError) -> [JSONNode.Member] {
        var members: [JSONNode.Member] = []
        if scanner.take(UInt8(ascii: "}")) { return members }
        while true {
            scanner.skipSpace()
            let start = scanner.position
            guard scanner.peek() == UInt8(ascii: "\"") else { throw JSONSyntaxError(.missingKey, offset: start) }
            let key = try scanner.string()
            try scanner.colon()
            members.append(.init(key: key, offset: start, value: try value()))
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: ",")) { continue }
            guard scanner.take(UInt8(ascii: "}")) else {
                throw JSONSyntaxError(.missingMemberSeparator, offset: scanner.position)
            }
            try refuseDuplicates(members)
            return members
        }
    }

    private func refuseDuplicates(_ members: [JSONNode.Member]) throws(JSONSyntaxError) {
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

    private func duplicate(_ member: JSONNode.Member, _ earlier: JSONNode.Member) -> JSONSyntaxError {
        JSONSyntaxError(.duplicateKey(first: earlier.offset), offset: member.offset)
    }
}
