/// Encodes the project's binary format: varints, length-prefixed strings and lists.
///
/// It is used for stored documents and for document operations on the worker link.
public struct ByteWriter: Sendable {
    public private(set) var bytes: [UInt8] = []

    public init(reservingCapacity capacity: Int = 64) { bytes.reserveCapacity(capacity) }

    public mutating func write(byte: UInt8) { bytes.append(byte) }

    public mutating func write(_ value: Bool) { bytes.append(value ? 1 : 0) }

    /// Seven bits per byte, least significant first.
    public mutating func write(varint value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    public mutating func write(count: Int) { write(varint: UInt64(count)) }

    /// Zigzag encoding, so that small negative numbers are short.
    public mutating func write(signed value: Int64) {
        write(varint: UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    /// Eight bytes, big-endian.
    public mutating func write(fixed value: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    public mutating func write(_ value: Double) { write(fixed: value.bitPattern) }

    public mutating func write(_ string: String) {
        write(count: string.utf8.count)
        bytes.append(contentsOf: string.utf8)
    }

    public mutating func write(blob: [UInt8]) {
        write(count: blob.count)
        bytes.append(contentsOf: blob)
    }

    @inlinable public mutating func write<Element>(_ list: [Element], _ write: (inout ByteWriter, Element) -> Void) {
        self.write(count: list.count)
        for element in list { write(&self, element) }
    }

    /// A flag, followed by the value if there is one.
    @inlinable public mutating func write<Wrapped>(optional: Wrapped?, _ write: (inout ByteWriter, Wrapped) -> Void) {
        self.write(optional != nil)
        if let optional { write(&self, optional) }
    }
}
