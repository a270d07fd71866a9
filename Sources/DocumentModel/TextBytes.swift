/// Texts compared by their bytes: Swift's == on String folds canonically equivalent texts into one.
package enum TextBytes {
    package static func equal(_ a: String, _ b: String) -> Bool {
        var (a, b) = (a, b)
        return a.withUTF8 { a in b.withUTF8 { b in equal(a, b) } }
    }

    /// Without an early way out of the loop, so that it compares many bytes at a time.
    static func equal(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Bool {
        guard a.count == b.count else { return false }
        var difference: UInt8 = 0
        for index in a.indices { difference |= a[index] ^ b[index] }
        return difference == 0
    }

    static func isASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var all: UInt8 = 0
        for byte in bytes { all |= byte }
        return all < 0x80
    }

    /// Below, above or 0 as one is before, after or the same as the other.
    static func order(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Int {
        var index = 0
        let count = min(a.count, b.count)
        while index < count, a[index] == b[index] { index += 1 }
        return index < count ? Int(a[index]) - Int(b[index]) : a.count - b.count
    }
}
