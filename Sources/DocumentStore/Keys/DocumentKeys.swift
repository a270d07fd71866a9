import DocumentModel
import StorageEngine

/// The keys of documents in their table.
///
/// The key is the collection's path, a 0 and the document's id. So the documents of a collection are adjacent, in the
/// order of their ids, and documents below them are stored elsewhere.
enum DocumentKeys {
    /// Appends the segments of a path, each with its terminator.
    static func append(_ path: String, to key: inout [UInt8]) {
        appendOpen(path, to: &key)
        key.append(0)
    }

    /// The same without the last terminator.
    static func appendOpen(_ path: String, to key: inout [UInt8]) {
        var path = path
        path.withUTF8 { appendOpen($0[...], to: &key) }
    }

    private static func appendOpen(_ path: Slice<UnsafeBufferPointer<UInt8>>, to key: inout [UInt8]) {
        var (index, isStart) = (path.startIndex, true)
        while index < path.endIndex {
            let byte = path[index]
            if isStart, byte == UInt8(ascii: "_") {
                let segment = path[index...].prefix { $0 != UInt8(ascii: "/") }
                if let id = NumericID(segment) {
                    KeyBytes.appendOpen(id.order, to: &key)
                    index = segment.endIndex
                    isStart = false
                    continue
                }
            }
            isStart = byte == UInt8(ascii: "/")
            if isStart {
                key.append(0)
            } else if byte < 2 {
                key += [1, byte + 1]
            } else {
                key.append(byte)
            }
            index += 1
        }
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
        var text = path.string
        text.withUTF8 { path in
            key.reserveCapacity(path.count + 2)
            let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
            appendOpen(path[..<slash], to: &key)
            key.append(0)
            key.append(0)
            appendOpen(path[(slash + 1)...], to: &key)
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
        for (number, segment) in plain.split(separator: 0, omittingEmptySubsequences: false).enumerated() {
            if number > 0 { bytes.append(UInt8(ascii: "/")) }
            let id = unescaped(segment)
            if let numeric = NumericID(order: id) { bytes += numeric.text.utf8 } else { bytes += id }
        }
        while bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func unescaped(_ segment: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var escaped = false
        for byte in segment {
            if byte == 1, !escaped {
                escaped = true
            } else {
                bytes.append(escaped ? byte &- 1 : byte)
                escaped = false
            }
        }
        return bytes
    }
}
