/// Writes compact JSON text with only the necessary escapes.
public struct JSONWriter: Sendable {
    @usableFromInline package internal(set) var bytes: [UInt8] = []

    @inlinable
    public init() {}

    /// - Parameter capacity: The expected number of bytes.
    @inlinable
    public init(capacity: Int) { bytes.reserveCapacity(capacity) }

    /// Appends JSON as it is: brackets, commas, constants.
    @inlinable
    public mutating func raw(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends what another writer has written.
    public mutating func append(_ other: JSONWriter) { bytes.append(contentsOf: other.bytes) }

    @inlinable
    public mutating func null() { raw("null") }

    @inlinable
    public mutating func boolean(_ value: Bool) { raw(value ? "true" : "false") }

    public mutating func integer(_ value: some BinaryInteger) {
        number(magnitude: UInt64(value.magnitude), isNegative: value < 0)
    }

    /// Appends a double that is parsed as a double again: 1.0.
    ///
    /// - Precondition: `value` is finite.
    public mutating func double(_ value: Double) { bytes.append(contentsOf: value.description.utf8) }

    /// Appends a string in quotes.
    public mutating func string(_ string: String) {
        var string = string
        bytes.append(UInt8(ascii: "\""))
        string.withUTF8 { escape(UnsafeRawBufferPointer($0)) }
        bytes.append(UInt8(ascii: "\""))
    }

    public mutating func key(_ key: String) {
        var key = key
        bytes.append(UInt8(ascii: "\""))
        key.withUTF8 { escape(UnsafeRawBufferPointer($0)) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    /// Appends each element with `write`, separated by commas.
    @inlinable
    public mutating func list<Element>(
        _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) -> Void
    ) {
        var isFirst = true
        for element in elements {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            write(&self, element)
        }
    }

    /// Appends an array, each element with `write`.
    @inlinable
    public mutating func array<Element>(
        _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) -> Void
    ) {
        raw("[")
        list(elements, write)
        raw("]")
    }

    // MARK: Numbers and escapes

    mutating func number(magnitude: UInt64, isNegative: Bool) {
        if isNegative { bytes.append(UInt8(ascii: "-")) }
        guard magnitude >= 10 else { return bytes.append(48 + UInt8(magnitude)) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var first = digits.count
            var rest = magnitude
            while rest > 0 {
                let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
                first -= 1
                digits[first] = 48 + UInt8(truncatingIfNeeded: digit)
                rest = quotient
            }
            bytes.append(contentsOf: UnsafeMutableBufferPointer(rebasing: digits[first...]))
        }
    }

    private mutating func escape(_ text: UnsafeRawBufferPointer) {
        var written = 0
        var position = 0
        while true {
            position = Self.nextEscaped(in: text, from: position)
            if position > written {
                bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[written..<position]))
            }
            guard position < text.count else { return }
            appendEscape(text[position])
            position += 1
            written = position
        }
    }

    /// The position of the next byte that needs an escape, found eight bytes at a time.
    private static func nextEscaped(in text: UnsafeRawBufferPointer, from start: Int) -> Int {
        var position = start
        let ones: UInt64 = 0x0101_0101_0101_0101
        while text.count - position >= 8 {
            let word = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let quotes = word ^ (ones &* 0x22)
            let backslashes = word ^ (ones &* 0x5C)
            let stops =
                ((quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | (word &- ones &* 0x20) & ~word)
                & (ones &* 0x80)
            if stops != 0 { return position + stops.trailingZeroBitCount >> 3 }
            position += 8
        }
        while position < text.count {
            let byte = text[position]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return position }
            position += 1
        }
        return position
    }

    private mutating func appendEscape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        default:
            raw("u00")
            let (high, low) = (byte >> 4, byte & 15)
            bytes.append(48 + high)
            bytes.append(low < 10 ? 48 + low : 87 + low)
        }
    }
}
