import DocumentModel
import RealtimeModel

/// Reads the keys of a path from its bytes (``TreeKey``).
struct TreeKeyReader {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// The position after what was read.
    var position: Int { rest.startIndex }

    /// Whether entries of an index follow.
    var isAtEntries: Bool { rest.first == TreeKey.entryMarker }

    var isAtEnd: Bool { rest.isEmpty }

    /// The next key.
    mutating func key() throws(DecodingFailure) -> RealtimeKey {
        switch rest.popFirst() {
        case TreeKey.integerMarker: return try integer()
        case TreeKey.textMarker:
            guard let text = try text(), RealtimeKey.isValid(text) else {
                throw DecodingFailure("a path in the tree has a key that can't be")
            }
            return RealtimeKey(unchecked: text)
        default: throw DecodingFailure("a path in the tree can't be read")
        }
    }

    /// A text up to its end, which is skipped.
    ///
    /// - Returns: nil if the text isn't valid UTF-8.
    mutating func text() throws(DecodingFailure) -> String? {
        guard let end = rest.firstIndex(of: 0) else { throw DecodingFailure("a path in the tree has no end") }
        defer { rest = rest[(end + 1)...] }
        let encoded = rest[..<end]
        // Most texts have no bytes that are stored as others.
        guard encoded.contains(where: { $0 == 1 || $0 >= 0xF5 }) else {
            return encoded.withUnsafeBufferPointer { TextBytes.string($0) }
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(encoded.count)
        var isEscaped = false
        for byte in encoded {
            if isEscaped {
                guard byte == 1 || byte == 2 else { throw DecodingFailure("a text in the tree can't be read") }
                bytes.append(byte - 1)
                isEscaped = false
            } else if byte == 1 {
                isEscaped = true
            } else {
                bytes.append(byte >= 0xF5 ? byte - 7 : byte)
            }
        }
        guard !isEscaped else { throw DecodingFailure("a text in the tree can't be read") }
        return bytes.withUnsafeBufferPointer { TextBytes.string($0) }
    }

    private mutating func integer() throws(DecodingFailure) -> RealtimeKey {
        guard rest.count >= 6 else { throw DecodingFailure("a path in the tree ends too early") }
        var number: UInt32 = 0
        for _ in 0..<4 { number = number << 8 | UInt32(rest.removeFirst()) }
        let value = Int32(bitPattern: number ^ 0x8000_0000)
        let form = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
        let isNegative = form & 1 == 0
        let digits = String(value.magnitude)
        let zeros = form / 2 - digits.utf8.count - (isNegative ? 1 : 0)
        guard isNegative ? value <= 0 : value >= 0, (0...RealtimeLimits.maxKeyBytes).contains(zeros) else {
            throw DecodingFailure("a path in the tree has a number that can't be")
        }
        return RealtimeKey(unchecked: (isNegative ? "-" : "") + String(repeating: "0", count: zeros) + digits)
    }
}

/// Reads the paths of rows in their order, and decodes only what a path doesn't have in common with the one before.
struct TreePathReader {
    /// The bytes of the last path, and the keys with the positions, from the first byte, that they end at.
    private var last: ArraySlice<UInt8> = []
    private var keys: [RealtimeKey] = []
    private var ends: [Int] = []

    /// What a row is.
    enum Row {
        case node(RealtimePath)
        /// An entry of an index; the node's path in bytes.
        case entry(of: ArraySlice<UInt8>)
    }

    /// - Parameter bytes: the path's bytes from the node that was asked for.
    mutating func read(_ bytes: ArraySlice<UInt8>) throws(DecodingFailure) -> Row {
        var shared = 0
        let limit = min(bytes.count, last.count)
        bytes.withUnsafeBufferPointer { a in
            last.withUnsafeBufferPointer { b in
                while shared < limit, a[shared] == b[shared] { shared += 1 }
            }
        }
        while let end = ends.last, end > shared {
            ends.removeLast()
            keys.removeLast()
        }
        last = bytes
        var reader = TreeKeyReader(bytes[(bytes.startIndex + (ends.last ?? 0))...])
        while !reader.isAtEnd {
            if reader.isAtEntries { return .entry(of: bytes[..<reader.position]) }
            keys.append(try reader.key())
            ends.append(reader.position - bytes.startIndex)
        }
        return .node(RealtimePath(unchecked: keys))
    }
}
