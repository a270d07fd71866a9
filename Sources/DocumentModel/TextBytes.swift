/// Compares strings by their UTF-8 bytes. Swift's `==` treats canonically equivalent strings as equal.
package enum TextBytes {
    package static func equal(_ a: String, _ b: String) -> Bool {
        var (a, b) = (a, b)
        return a.withUTF8 { a in b.withUTF8 { b in equal(a, b) } }
    }

    /// Unlike `String`'s, differs for canonically equivalent strings: a client could send very many that have one hash.
    static func hash(_ text: String, into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // A terminator, so that ["ab", "c"] and ["a", "bc"] have different hashes.
        hasher.combine(0xFF as UInt8)
    }

    /// Has no early exit from the loop, so that the compiler can vectorize it.
    static func equal(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Bool {
        guard a.count == b.count else { return false }
        var difference: UInt8 = 0
        for index in a.indices { difference |= a[index] ^ b[index] }
        return difference == 0
    }

    /// - Returns: nil if the bytes aren't valid UTF-8.
    package static func string(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        // Invalid UTF-8 is repaired, so the result differs. `String(validating:)` costs several times as much.
        var string = String(decoding: bytes, as: UTF8.self)
        if isASCII(bytes) { return string }
        return string.withUTF8 { equal($0, bytes) } ? string : nil
    }

    static func isASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var all: UInt8 = 0
        for byte in bytes { all |= byte }
        return all < 0x80
    }

    /// Returns a negative number, 0 or a positive number if `a` sorts before, with or after `b`.
    static func order(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Int {
        var index = 0
        let count = min(a.count, b.count)
        while index < count, a[index] == b[index] { index += 1 }
        return index < count ? Int(a[index]) - Int(b[index]) : a.count - b.count
    }
}
