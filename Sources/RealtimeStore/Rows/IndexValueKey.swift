import DocumentModel
import RealtimeModel
import StorageEngine

/// What a query orders by, as bytes in the order of ``RealtimeIndexValue``. None is another's prefix.
///
/// Of a long text only the beginning is kept. Such values have to be compared by reading the nodes.
enum IndexValueKey {
    private static let null: UInt8 = 0x10
    private static let isFalse: UInt8 = 0x20
    private static let isTrue: UInt8 = 0x21
    private static let number: UInt8 = 0x30
    private static let string: UInt8 = 0x40
    private static let object: UInt8 = 0x50
    /// The bytes of a text that are kept.
    static let maxTextBytes = 1024

    /// - Returns: whether the value was cut.
    @discardableResult
    static func append(_ value: RealtimeIndexValue, to bytes: inout [UInt8]) -> Bool {
        switch value {
        case .null: bytes.append(null)
        case .object: bytes.append(object)
        case .leaf(.boolean(let value)): bytes.append(value ? isTrue : isFalse)
        case .leaf(.number(let value)): append(value, to: &bytes)
        case .leaf(.string(let text)): return append(text, to: &bytes)
        }
        return false
    }

    /// The double nearest to the number, then the difference from it: integers are exact.
    private static func append(_ value: RealtimeNumber, to bytes: inout [UInt8]) {
        bytes.append(number)
        let nearest = value.double
        let bits = (nearest == 0 ? 0 : nearest).bitPattern
        KeyBytes.append(bits >> 63 == 1 ? ~bits : bits | 1 << 63, to: &bytes)
        let residual = value.integer.map { Int(Int128($0) - Int128(nearest)) } ?? 0
        let biased = UInt16(residual + 0x8000)
        bytes.append(UInt8(biased >> 8))
        bytes.append(UInt8(truncatingIfNeeded: biased))
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) -> Bool {
        bytes.append(string)
        let start = bytes.count
        var text = text
        text.withUTF8 { text in
            // A byte takes at least one.
            TreeKey.append(text: UnsafeBufferPointer(rebasing: text.prefix(maxTextBytes + 1)), to: &bytes)
        }
        guard bytes.count - start > maxTextBytes else {
            bytes.append(0)
            return false
        }
        bytes.removeLast(bytes.count - start - maxTextBytes)
        bytes += cutEnd
        return true
    }

    /// The end of a text that was cut, which no text has within.
    private static let cutEnd: [UInt8] = [1, 3]

    /// Reads a value.
    ///
    /// - Returns: nil if it was cut.
    static func read(from reader: inout ArraySlice<UInt8>) throws(DecodingFailure) -> RealtimeIndexValue? {
        switch reader.popFirst() {
        case null: return .null
        case object: return .object
        case isFalse: return .leaf(.boolean(false))
        case isTrue: return .leaf(.boolean(true))
        case number: return .leaf(.number(try readNumber(&reader)))
        case string:
            if reader.count >= maxTextBytes + 2 {
                let end = reader.startIndex + maxTextBytes
                if reader[end..<(end + 2)].elementsEqual(cutEnd), !reader[..<end].contains(0) {
                    reader = reader[(end + 2)...]
                    return nil
                }
            }
            var text = TreeKeyReader(reader)
            let string = try text.text()
            reader = text.rest
            guard let string else { break }
            return .leaf(.string(string))
        default: break
        }
        throw DecodingFailure("an entry of an index can't be read")
    }

    private static func readNumber(_ reader: inout ArraySlice<UInt8>) throws(DecodingFailure) -> RealtimeNumber {
        guard reader.count >= 10 else { throw DecodingFailure("an entry of an index ends too early") }
        var bits: UInt64 = 0
        for _ in 0..<8 { bits = bits << 8 | UInt64(reader.removeFirst()) }
        let double = Double(bitPattern: bits >> 63 == 1 ? bits & ~(1 << 63) : ~bits)
        let residual = (Int(reader.removeFirst()) << 8 | Int(reader.removeFirst())) - 0x8000
        guard double.isFinite else { throw DecodingFailure("an entry of an index has an infinite number") }
        guard residual != 0 else { return RealtimeNumber(double) }
        guard double.magnitude <= 0x1p63, let integer = Int64(exactly: Int128(double) + Int128(residual)) else {
            throw DecodingFailure("an entry of an index has a number that can't be")
        }
        return RealtimeNumber(integer)
    }
}
