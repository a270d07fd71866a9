import StorageEngine
import DocumentModel

/// One key that a route found, with the content of its row.
struct IndexHit {
    let key: [UInt8]
    /// In a walk over documents the stored document, otherwise the four bytes of an index entry.
    private let row: [UInt8]
    private let documentOffset: Int
    private let flags: IndexEntry.Flags
    private let access: IndexAccess

    /// - Throws: `DecodingFailure` for a row that this program didn't write.
    init(key: [UInt8], row: [UInt8], _ access: IndexAccess) throws(DecodingFailure) {
        self.key = key
        self.row = row
        self.access = access
        guard access.table == .index else {
            (documentOffset, flags) = (access.prefix.count, [])
            return
        }
        guard row.count == 4, row[0] <= IndexEntry.Flags.all.rawValue else {
            throw DecodingFailure("an index row has the wrong form")
        }
        flags = IndexEntry.Flags(rawValue: row[0])
        documentOffset = Int(row[1]) << 16 | Int(row[2]) << 8 | Int(row[3])
        guard documentOffset < key.count else { throw DecodingFailure("an index row points behind its key") }
    }

    /// A key that is only counted.
    init(key: [UInt8], _ access: IndexAccess) {
        (self.key, row, documentOffset, flags) = (key, [], access.prefix.count, [])
        self.access = access
    }

    /// Whether a value of the key was cut, so that the key doesn't determine the order among equal bytes.
    var isTruncated: Bool { flags.contains(.isTruncated) }

    /// Whether the last value of the key is a double, if it is a number.
    var isDouble: Bool { flags.contains(.isDouble) }

    /// The document's bytes, if they came with the key.
    var stored: [UInt8]? { access.table == .documents ? row : nil }

    /// The document's key in its table, given its name.
    ///
    /// - Parameter prefix: the common start of the keys of a collection's documents; nil for a group's.
    func documentKey(_ name: [UInt8], in prefix: [UInt8]?) -> [UInt8] {
        if access.table == .documents { return key }
        if let prefix { return prefix + name }
        // Every segment except the last ends in a 0, and the last but one in two.
        let collectionEnd = name.lastIndex(of: 0) ?? name.startIndex
        return name[..<collectionEnd] + [0] + name[collectionEnd...]
    }

    func path(_ name: [UInt8], _ target: QueryTarget) -> DocumentPath {
        if access.prefix.isEmpty { return DocumentPath(unchecked: DocumentKeys.path(of: key)) }
        let text = DocumentKeys.text(of: name[...])
        return switch target {
        case .collection(let collection): DocumentPath(unchecked: collection.string + "/" + text)
        case .group: DocumentPath(unchecked: text)
        }
    }

    /// The document's id in a collection, or its path in a group: the bytes without terminators.
    var name: [UInt8] {
        var name = Array(key[documentOffset...])
        if flags.contains(.namesDescend) { for index in name.indices { name[index] = ~name[index] } }
        while name.last == 0 { name.removeLast() }
        return name
    }
}
