extension JSONScanner {
    /// Validates and skips a value and the white space before it, as strictly as the readers of trees, except that
    /// numbers may exceed a double's range.
    ///
    /// It doesn't recurse, and it doesn't allocate unless a value has many open keys.
    package mutating func skipValue() throws(JSONSyntaxError) {
        skipSpace()
        guard let first = peek(), first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else {
            return try skipScalar()
        }
        let result: Result<Void, JSONSyntaxError> = withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 128) {
            words in
            var open = OpenContainers(startingIn: words)
            return Result { () throws(JSONSyntaxError) in try skipContainer(&open) }
        }
        try result.get()
    }

    private mutating func skipContainer(_ open: inout OpenContainers) throws(JSONSyntaxError) {
        while true {
            switch peek() {
            case UInt8(ascii: "{"):
                guard open.push(isObject: true) else { throw JSONSyntaxError(.tooDeep, offset: position) }
                position += 1
                skipSpace()
                guard take(UInt8(ascii: "}")) else {
                    try skipKey(&open)
                    continue
                }
                open.pop()
            case UInt8(ascii: "["):
                guard open.push(isObject: false) else { throw JSONSyntaxError(.tooDeep, offset: position) }
                position += 1
                skipSpace()
                guard take(UInt8(ascii: "]")) else { continue }
                open.pop()
            default: try skipScalar()
            }
            // A value has ended, and its containers may end too.
            while true {
                guard open.depth > 0 else { return }
                skipSpace()
                if take(UInt8(ascii: ",")) {
                    skipSpace()
                    if open.isObject { try skipKey(&open) }
                    break
                }
                if open.isObject {
                    guard take(UInt8(ascii: "}")) else {
                        throw JSONSyntaxError(.missingMemberSeparator, offset: position)
                    }
                    try open.checkKeys(in: bytes)
                } else {
                    guard take(UInt8(ascii: "]")) else {
                        throw JSONSyntaxError(.missingElementSeparator, offset: position)
                    }
                }
                open.pop()
            }
        }
    }

    private mutating func skipKey(_ open: inout OpenContainers) throws(JSONSyntaxError) {
        let start = position
        guard peek() == UInt8(ascii: "\"") else { throw JSONSyntaxError(.missingKey, offset: start) }
        let content = try skipString()
        open.addKey(at: start, length: position - start - 2, isPlain: content == .plain)
        try colon()
    }

    @inline(__always)
    private mutating func skipScalar() throws(JSONSyntaxError) {
        guard let first = peek() else { throw JSONSyntaxError(.missingValue, offset: position) }
        switch first {
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "-"), 0x30...0x39: try skipNumber()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: throw JSONSyntaxError(.notAValue, offset: position)
        }
    }
}
