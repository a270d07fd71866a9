import DocumentModel

/// One key of the index, with the content of its row.
///
/// A key is the scope, the field, the value and the document. Each document has an entry for each field, including the
/// fields of maps, and one for each element of an array, in the scope of its collection; entries of composite indexes
/// have their own form (``CompositeKey``). A document below another document has one more entry, for itself, under its
/// collection's id: a collection group is the root collection of that id plus the documents that those entries name. As
/// in Firestore, a group's fields aren't indexed by default.
struct IndexEntry: Hashable, Sendable {
    /// What a reader needs to know beyond the key.
    struct Flags: OptionSet, Hashable, Sendable {
        var rawValue: UInt8

        /// A value was cut, so the key doesn't determine the order among equal bytes.
        static let isTruncated = Flags(rawValue: 1)
        /// The key's last value is a double; an equal integer has the same key.
        static let isDouble = Flags(rawValue: 2)
        /// The bytes of the document are inverted.
        static let namesDescend = Flags(rawValue: 4)

        static let all: Flags = [.isTruncated, .isDouble, .namesDescend]
    }

    var key: [UInt8]
    /// The number of bytes of the key before the document.
    var documentOffset: Int
    var flags: Flags

    var isTruncated: Bool { flags.contains(.isTruncated) }

    /// Four bytes: the flags and the offset.
    var row: [UInt8] {
        [
            flags.rawValue, UInt8(truncatingIfNeeded: documentOffset >> 16),
            UInt8(truncatingIfNeeded: documentOffset >> 8), UInt8(truncatingIfNeeded: documentOffset),
        ]
    }

    init(key: [UInt8], documentOffset: Int, flags: Flags = []) {
        self.key = key
        self.documentOffset = documentOffset
        self.flags = flags
    }

    /// - Throws: `DecodingFailure` for a row that this program didn't write.
    init(key: [UInt8], row: [UInt8]) throws {
        guard row.count == 4, row[0] <= Flags.all.rawValue else {
            throw DecodingFailure("an index row has the wrong form")
        }
        let offset = Int(row[1]) << 16 | Int(row[2]) << 8 | Int(row[3])
        guard offset < key.count else { throw DecodingFailure("an index row points behind its key") }
        self.init(key: key, documentOffset: offset, flags: Flags(rawValue: row[0]))
    }

    /// The document's id in a collection's scope, its path in a group's.
    var documentText: String {
        guard flags.contains(.namesDescend) else { return DocumentKeys.text(of: key[documentOffset...]) }
        return DocumentKeys.text(of: key[documentOffset...].map { ~$0 }[...])
    }
}
