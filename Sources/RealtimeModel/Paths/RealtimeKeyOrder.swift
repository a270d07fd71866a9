/// The order of keys, and of the names that stand beside keys in a path or a bound: `.priority`, keys longer than any.
package enum RealtimeKeyOrder {
    /// - Returns: A negative number, 0 or a positive number if `a` sorts before, with or after `b`.
    static func compare(_ a: String, _ b: String) -> Int {
        // Native strings, which all that are read from JSON are, have contiguous UTF-8, and needn't be copied.
        let order = a.utf8.withContiguousStorageIfAvailable { a in
            b.utf8.withContiguousStorageIfAvailable { b in compare(a, b) }
        }
        if let order = order ?? nil { return order }
        var (a, b) = (a, b)
        return a.withUTF8 { a in b.withUTF8 { b in compare(a, b) } }
    }

    /// Integers come first. Clients order two spellings of a number that have the same length, as -0 and 00, in neither
    /// way; here their text decides.
    static func compare(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Int {
        switch (number(a), number(b)) {
        case (nil, nil): break
        case (_, nil): return -1
        case (nil, _): return 1
        case (let first?, let second?):
            if first != second { return first < second ? -1 : 1 }
            if a.count != b.count { return a.count - b.count }
        }
        return RealtimeText.compare(a, b)
    }

    /// The 32-bit integer that a key is: an optional minus sign, zeros, and at most ten digits more.
    package static func number(_ key: UnsafeBufferPointer<UInt8>) -> Int32? {
        var index = 0
        let isNegative = key.count > 1 && key[0] == UInt8(ascii: "-")
        if isNegative { index = 1 }
        guard index < key.count, key[index] &- UInt8(ascii: "0") < 10 else { return nil }
        while index < key.count, key[index] == UInt8(ascii: "0") { index += 1 }
        guard key.count - index <= 10 else { return nil }
        var number = 0
        while index < key.count {
            let digit = key[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            number = number * 10 + Int(digit)
            index += 1
        }
        return Int32(exactly: isNegative ? -number : number)
    }
}
