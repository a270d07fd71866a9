/// Decodes what ``ByteWriter`` encodes. Input is untrusted: every length is checked against the remaining bytes.
public struct ByteReader: Sendable {
    private let bytes: ArraySlice<UInt8>
    private var position: Int
    private let maxElementBytes: Int
    /// About how many bytes of memory all lists and maps so far take, without the contents of strings. More than allowed
    /// once they have been refused.
    package private(set) var elementBytes = 0

    public init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    public init(_ bytes: ArraySlice<UInt8>) { self.init(bytes, maxElementBytes: .max) }

    /// - Parameter maxElementBytes: as many as ``elementBytes`` may be.
    package init(_ bytes: ArraySlice<UInt8>, maxElementBytes: Int) {
        self.bytes = bytes
        self.position = bytes.startIndex
        self.maxElementBytes = maxElementBytes
    }

    public var remaining: Int { bytes.endIndex - position }

    public mutating func byte() throws(DecodingFailure) -> UInt8 {
        guard position < bytes.endIndex else { throw DecodingFailure("the bytes end too early") }
        defer { position += 1 }
        return bytes[position]
    }

    public mutating func bool() throws(DecodingFailure) -> Bool {
        switch try byte() {
        case 0: false
        case 1: true
        default: throw DecodingFailure("a flag is neither 0 nor 1")
        }
    }

    public mutating func varint() throws(DecodingFailure) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let next = try byte()
            guard shift < 63 || next <= 1 else { throw DecodingFailure("a number has more than 64 bits") }
            value |= UInt64(next & 0x7F) << shift
            if next < 0x80 { return value }
            shift += 7
        }
    }

    /// Decodes a count of elements of at least one byte each, which can't exceed the remaining bytes.
    public mutating func count() throws(DecodingFailure) -> Int {
        let value = try varint()
        guard value <= UInt64(remaining) else {
            throw DecodingFailure("a length of \(value) exceeds the remaining bytes")
        }
        return Int(value)
    }

    public mutating func signed() throws(DecodingFailure) -> Int64 {
        let value = try varint()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    public mutating func fixed() throws(DecodingFailure) -> UInt64 {
        guard remaining >= 8 else { throw DecodingFailure("the bytes end too early") }
        var value: UInt64 = 0
        for byte in bytes[position..<position + 8] { value = value << 8 | UInt64(byte) }
        position += 8
        return value
    }

    public mutating func double() throws(DecodingFailure) -> Double { Double(bitPattern: try fixed()) }

    public mutating func string() throws(DecodingFailure) -> String {
        let count = try count()
        let start = position - bytes.startIndex
        position += count
        let string = bytes.withUnsafeBufferPointer { bytes in
            TextBytes.string(UnsafeBufferPointer(rebasing: bytes[start..<start + count]))
        }
        guard let string else { throw DecodingFailure("a string isn't valid UTF-8") }
        return string
    }

    public mutating func blob() throws(DecodingFailure) -> [UInt8] { Array(try slice()) }

    /// Passes over a string or blob.
    package mutating func skipBlob() throws(DecodingFailure) { position += try count() }

    @inlinable public mutating func list<Element>(
        _ read: (inout ByteReader) throws(DecodingFailure) -> Element
    ) throws(DecodingFailure) -> [Element] {
        let count = try count()
        try add(elements: count, of: MemoryLayout<Element>.stride)
        var list: [Element] = []
        // A false count must not reserve more memory than its input has bytes.
        list.reserveCapacity(min(count, 1024))
        for _ in 0..<count { list.append(try read(&self)) }
        return list
    }

    /// Counts the elements of a list or map before they are read.
    @usableFromInline mutating func add(elements count: Int, of bytes: Int) throws(DecodingFailure) {
        guard count > 0 else { return }
        elementBytes += 32 + count * bytes
        guard elementBytes <= maxElementBytes else {
            throw DecodingFailure("it takes more than \(maxElementBytes) bytes of memory")
        }
    }

    @inlinable public mutating func optional<Wrapped>(
        _ read: (inout ByteReader) throws(DecodingFailure) -> Wrapped
    ) throws(DecodingFailure) -> Wrapped? {
        try bool() ? try read(&self) : nil
    }

    package var isAtEnd: Bool { remaining == 0 }

    /// - Throws: If bytes are left over.
    public func finish() throws(DecodingFailure) {
        guard remaining == 0 else { throw DecodingFailure("\(remaining) bytes are left over") }
    }

    private mutating func slice() throws(DecodingFailure) -> ArraySlice<UInt8> {
        let count = try count()
        defer { position += count }
        return bytes[position..<position + count]
    }
}

/// Malformed bytes: from a damaged store or a faulty peer.
public struct DecodingFailure: Error, Hashable, Sendable, CustomStringConvertible {
    public var reason: String
    /// Whether the bytes are as their writer meant them, and contain something beyond a limit, such as a value that is
    /// nested too deep: the peer isn't faulty.
    package let isBeyondLimit: Bool

    public init(_ reason: String) { self.init(reason, isBeyondLimit: false) }

    package init(_ reason: String, isBeyondLimit: Bool) {
        self.reason = reason
        self.isBeyondLimit = isBeyondLimit
    }

    package static func beyondLimit(_ reason: String) -> DecodingFailure {
        DecodingFailure(reason, isBeyondLimit: true)
    }

    public var description: String { reason }
}
