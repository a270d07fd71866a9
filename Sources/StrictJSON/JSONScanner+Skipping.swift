extension JSONScanner {
    /// Validates and skips a value and the white space before it, by the grammar alone.
    ///
    /// The readers of trees refuse two more things: an object's repeated keys, for which they compare what they keep
    /// anyway, and numbers beyond a double's range. Skipping neither recurses nor allocates, and takes linear time.
    package mutating func skipValue() throws(JSONError) {
        skipSpace()
        guard let first = peek(), first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else {
            return try skipScalar()
        }
        let result = withUnsafeTemporaryAllocation(of: UInt64.self, capacity: OpenContainers.wordCount) { words in
            Result { () throws(JSONError) in try skipContainer(OpenContainers(in: words)) }
        }
        try result.get()
    }

    private mutating func skipContainer(_ containers: OpenContainers) throws(JSONError) {
        var open = containers
        while true {
            switch peek() {
            case UInt8(ascii: "{"):
                guard open.push(isObject: true) else { throw JSONError(.tooDeep, at: position) }
                position += 1
                skipSpace()
                guard take(UInt8(ascii: "}")) else {
                    try skipKey()
                    continue
                }
                open.pop()
            case UInt8(ascii: "["):
                guard open.push(isObject: false) else { throw JSONError(.tooDeep, at: position) }
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
                    if open.isObject { try skipKey() }
                    break
                }
                if open.isObject {
                    guard take(UInt8(ascii: "}")) else { throw JSONError(.missingMemberSeparator, at: position) }
                } else {
                    guard take(UInt8(ascii: "]")) else { throw JSONError(.missingElementSeparator, at: position) }
                }
                open.pop()
            }
        }
    }

    @inline(__always)
    private mutating func skipKey() throws(JSONError) {
        guard peek() == UInt8(ascii: "\"") else { throw JSONError(.missingKey, at: position) }
        try skipString()
        try colon()
    }

    @inline(__always)
    private mutating func skipScalar() throws(JSONError) {
        guard let first = peek() else { throw JSONError(.missingValue, at: position) }
        switch first {
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "-"), 0x30...0x39: try skipNumber()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: throw JSONError(.notAValue, at: position)
        }
    }
}
