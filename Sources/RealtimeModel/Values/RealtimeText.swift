/// Compares strings as the Realtime Database does. Swift's `==` treats canonically equivalent strings as equal, and `<`
/// follows their normal forms.
package enum RealtimeText {
    /// Whether both strings have the same bytes.
    package static func equal(_ a: String, _ b: String) -> Bool {
        var (a, b) = (a, b)
        return a.withUTF8 { a in
            b.withUTF8 { b in a.count == b.count && (a.count == 0 || a.elementsEqual(b)) }
        }
    }

    static func hash(_ string: String, into hasher: inout Hasher) {
        var string = string
        string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }

    /// - Returns: A negative number, 0 or a positive number if `a` sorts before, with or after `b` by UTF-16 units.
    static func compare(_ a: String, _ b: String) -> Int {
        var (a, b) = (a, b)
        return a.withUTF8 { a in b.withUTF8 { b in compare(a, b) } }
    }

    /// The order by UTF-16 units of two texts in UTF-8.
    ///
    /// It is the order of the bytes, but for characters beyond U+FFFF: their surrogates sort before U+E000 to U+FFFF.
    static func compare(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Int {
        var index = 0
        let count = min(a.count, b.count)
        while index < count, a[index] == b[index] { index += 1 }
        guard index < count else { return a.count - b.count }
        let (a, b) = (a[index], b[index])
        // First bytes of U+E000 to U+FFFF are 0xEE and 0xEF, those of surrogates' characters are 0xF0 and above. Later
        // bytes of a character are below both.
        if a >= 0xEE, b >= 0xEE, (a < 0xF0) != (b < 0xF0) { return a < 0xF0 ? 1 : -1 }
        return Int(a) - Int(b)
    }
}
