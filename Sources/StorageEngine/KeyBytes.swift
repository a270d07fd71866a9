import Foundation

/// Writes keys whose order, compared byte by byte, is the order of what they stand for.
public enum KeyBytes {
    /// Appends a text or byte string so that none is a prefix of another: it ends in 0, which sorts before
    /// everything, and the bytes 0 and 1 are written as two.
    @inlinable
    public static func append(_ content: some Sequence<UInt8>, to key: inout [UInt8]) {
        appendOpen(content, to: &key)
        key.append(0)
    }

    /// Appends a text or byte string without its end.
    @inlinable
    public static func appendOpen(_ content: some Sequence<UInt8>, to key: inout [UInt8]) {
        for byte in content {
            if byte < 2 { key.append(1) }
            key.append(byte < 2 ? byte + 1 : byte)
        }
    }

    @inlinable
    public static func append(_ value: UInt64, to key: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) { key.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    /// The first key after all that start with `prefix`; nil if there is none.
    @inlinable
    public static func successor(ofPrefix prefix: [UInt8]) -> [UInt8]? {
        var key = prefix
        while let last = key.popLast() {
            if last < 0xFF {
                key.append(last + 1)
                return key
            }
        }
        return nil
    }

    /// The order of two keys: negative if the first is before the other, 0 if they are equal.
    static func order(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        let shared = min(a.count, b.count)
        guard shared > 0, let first = a.baseAddress, let second = b.baseAddress else { return a.count - b.count }
        let order = memcmp(first, second, shared)
        return order == 0 ? a.count - b.count : Int(order)
    }
}
