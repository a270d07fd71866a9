import DocumentModel

/// The keys of documents in their table.
///
/// The key is the collection's path, a 0 and the document's id. So the documents of a collection are adjacent, in the
/// order of their ids, and documents below them are stored elsewhere.
enum DocumentKeys {
    /// Appends the segments of a path, each with its terminator.
    static func append(_ path: String, to key: inout [UInt8]) {
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "/"): key.append(0)
            case 0, 1: key += [1, byte + 1]
            default: key.append(byte)
            }
        }
        key.append(0)
    }

    /// The common start of the keys of a collection's documents.
    static func prefix(ofCollection path: String) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(path.utf8.count + 32)
        append(path, to: &key)
        key.append(0)
        return key
    }

    static func key(of path: DocumentPath) -> [UInt8] {
        var key: [UInt8] = []
        let utf8 = path.string.utf8
        key.reserveCapacity(utf8.count + 2)
        let slash = utf8.lastIndex(of: UInt8(ascii: "/"))
        var index = utf8.startIndex
        while index < utf8.endIndex {
            let byte = utf8[index]
            if byte == UInt8(ascii: "/") {
                key.append(0)
                if index == slash { key.append(0) }
            } else if byte < 2 {
                key += [1, byte + 1]
            } else {
                key.append(byte)
            }
            utf8.formIndex(after: &index)
        }
        return key
    }
}

extension DocumentKeys {
    /// The path of a document's key: the second of the two zeros is the only one that begins a segment.
    static func path(of key: [UInt8]) -> String {
        var segments: [String] = []
        for segment in key.split(separator: 0) { segments.append(text(of: segment)) }
        return segments.joined(separator: "/")
    }

    /// - Throws: if the key isn't that of a document.
    static func checkedPath(of key: [UInt8]) throws(DecodingFailure) -> DocumentPath {
        let name = path(of: key)
        guard let path = try? DocumentPath(name), self.key(of: path) == key else {
            throw DecodingFailure("the key of \"\(name)\" is not the one of its name")
        }
        return path
    }

    /// The text that ``KeyBytes`` or ``append(_:to:)`` wrote; terminators between segments become slashes.
    static func text(of key: ArraySlice<UInt8>) -> String {
        // In most keys no byte is escaped.
        let plain = key.last == 0 ? key.dropLast() : key
        if plain.allSatisfy({ $0 > 1 }) { return String(decoding: plain, as: UTF8.self) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(key.count)
        var escaped = false
        for byte in key {
            if escaped {
                bytes.append(byte &- 1)
                escaped = false
            } else if byte == 1 {
                escaped = true
            } else {
                bytes.append(byte == 0 ? UInt8(ascii: "/") : byte)
            }
        }
        while bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
