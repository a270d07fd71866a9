import DocumentModel

/// Finds the ends of values in keys that hold several, and reads numbers from keys.
enum ValueKeyReader {
    /// The end of the value that begins at an offset, and whether the value was cut.
    ///
    /// - Parameter isInverted: whether each byte of the value is inverted.
    static func end(in key: [UInt8], from start: Int, isInverted: Bool) -> (end: Int, isTruncated: Bool) {
        var walk = Walk(key: key, position: start, mask: isInverted ? 0xFF : 0)
        walk.value()
        let limit = start + DocumentLimits.maxIndexedValueBytes
        // A damaged key may end before the value does.
        return walk.position > limit ? (min(limit, key.count), true) : (min(walk.position, key.count), false)
    }

    /// The number at an offset; nil if another kind of value is there.
    ///
    /// - Parameter isDouble: which of two equal numbers it is: keys don't distinguish 1 from 1.0.
    static func number(in key: [UInt8], at start: Int, isInverted: Bool, isDouble: Bool) -> Value? {
        let mask: UInt8 = isInverted ? 0xFF : 0
        guard start + 11 <= key.count, key[start] ^ mask == ValueKey.prefix(of: .number) else { return nil }
        let ordered = key[start + 1..<start + 9].reduce(UInt64(0)) { $0 << 8 | UInt64($1 ^ mask) }
        guard ordered != 0 else { return .double(.nan) }
        let double = Double(bitPattern: ordered >> 63 == 1 ? ordered & ~(1 << 63) : ~ordered)
        if isDouble { return .double(double) }
        let residual = (Int(key[start + 9] ^ mask) << 8 | Int(key[start + 10] ^ mask)) - 0x8000
        guard let whole = Int128(exactly: double), let integer = Int64(exactly: whole + Int128(residual)) else {
            return .double(double)
        }
        return .integer(integer)
    }

    /// A walk over a key's parts. If a part continues past the key's end, as in a value that was cut, it goes far past
    /// it.
    private struct Walk {
        let key: [UInt8]
        var position: Int
        let mask: UInt8

        private static let far = 1 << 30
        /// Deeper than any value that is indexed.
        private static let maxDepth = 64
        private var depth = 0

        init(key: [UInt8], position: Int, mask: UInt8) {
            self.key = key
            self.position = position
            self.mask = mask
        }

        private mutating func next() -> UInt8? {
            guard position < key.count else {
                position = Self.far
                return nil
            }
            defer { position += 1 }
            return key[position] ^ mask
        }

        mutating func value() {
            guard depth < Self.maxDepth, let first = next(), let valueClass = ValueClass(rawValue: first &- 1) else {
                position = Self.far
                return
            }
            depth += 1
            defer { depth -= 1 }
            switch valueClass {
            case .null: break
            case .boolean: position += 1
            case .number: position += 10
            case .timestamp, .geoPoint: position += 16
            case .string, .bytes: text()
            case .reference:
                text()
                text()
                while text() > 0 {}
            case .vector:
                position += 8
                elements()
            case .array: elements()
            case .map:
                while next() == 1 {
                    text()
                    value()
                }
            }
        }

        /// - Returns: the number of bytes before the end.
        @discardableResult
        private mutating func text() -> Int {
            var count = 0
            while let byte = next(), byte != 0 { count += 1 }
            return count
        }

        private mutating func elements() {
            while let byte = next(), byte != 0 {
                position -= 1
                value()
            }
        }
    }
}
