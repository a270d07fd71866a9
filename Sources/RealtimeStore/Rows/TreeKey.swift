import RealtimeModel
import StorageEngine

/// Paths as bytes that sort as ``RealtimePath`` does: a node before its children, and these by key.
///
/// So a subtree is one contiguous range. Each key of a path is a marker and bytes of which none is another's prefix:
/// of an integer, its number and length; of any other key, its text. Entries of indexes follow the node whose
/// children they order, and precede these children.
///
/// In storage, a path's bytes follow the row's kind and the number of its tree (see ``TreeLayout``).
enum TreeKey {
    /// The bytes before the path.
    static let headerCount = 5

    /// Begins the entries of a node's indexes.
    static let entryMarker: UInt8 = 1
    static let integerMarker: UInt8 = 2
    static let textMarker: UInt8 = 3

    static func header(ofTree tree: UInt32) -> [UInt8] { stored([], inTree: tree) }

    /// A path's key in storage.
    static func stored(_ path: [UInt8], inTree tree: UInt32) -> [UInt8] {
        let count = headerCount + path.count
        return [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
            bytes[0] = RowKind.node.rawValue
            for index in 1..<headerCount {
                bytes[index] = UInt8(truncatingIfNeeded: tree >> UInt32(8 * (headerCount - 1 - index)))
            }
            _ = UnsafeMutableBufferPointer(rebasing: bytes[headerCount..<count]).initialize(from: path)
            initialized = count
        }
    }

    /// Where the first key of a path's bytes ends; nil if there is none, but an entry of an index.
    static func endOfKey(_ bytes: ArraySlice<UInt8>) -> Int? {
        switch bytes.first {
        case integerMarker: bytes.index(bytes.startIndex, offsetBy: 7, limitedBy: bytes.endIndex)
        case textMarker: bytes.firstIndex(of: 0).map { $0 + 1 }
        default: nil
        }
    }

    static func of(_ path: RealtimePath) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        for key in path.keys { append(key, to: &bytes) }
        return bytes
    }

    /// The node and all that is below it.
    static func subtree(_ path: [UInt8]) -> KeyRange { path.isEmpty ? .all : KeyRange(prefix: path) }

    /// All below a node, without its entries.
    static func children(of path: [UInt8]) -> KeyRange {
        KeyRange(lower: path + [integerMarker], upper: subtree(path).upper)
    }

    /// All entries of a node's indexes.
    static func entries(of path: [UInt8]) -> KeyRange {
        KeyRange(lower: path + [entryMarker], upper: path + [integerMarker])
    }

    /// Appends a key, or the name in a query's bound, which keys can't always have.
    static func append(_ key: RealtimeKey, to bytes: inout [UInt8]) {
        var text = key.string
        text.withUTF8 { text in
            if let number = RealtimeKeyOrder.number(text) {
                bytes.append(integerMarker)
                let biased = UInt32(bitPattern: number) ^ 0x8000_0000
                for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: biased >> shift)) }
                // Of two spellings of 0 with one length, the negative one comes first. No key is longer than the
                // maximum.
                let length = min(text.count, 0x7FFF) * 2 + (text[0] == UInt8(ascii: "-") ? 0 : 1)
                bytes.append(UInt8(length >> 8))
                bytes.append(UInt8(truncatingIfNeeded: length))
            } else {
                bytes.append(textMarker)
                append(text: text, to: &bytes)
                bytes.append(0)
            }
        }
    }

    /// Appends a text without its end, so that the order of bytes is that of UTF-16 units: characters beyond U+FFFF,
    /// whose first byte is 0xF0 to 0xF4, come before U+E000 to U+FFFF, whose first byte is 0xEE or 0xEF.
    static func append(text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
        for byte in text {
            switch byte {
            case 0, 1:
                bytes.append(1)
                bytes.append(byte + 1)
            case 0xEE, 0xEF: bytes.append(byte + 7)
            default: bytes.append(byte)
            }
        }
    }
}
