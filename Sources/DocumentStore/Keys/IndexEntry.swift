import DocumentModel

/// One key of the index with what its row says about it.
///
/// A key is the scope, the field, the value and the document. Each document has an entry for each field, the fields
/// of maps among them, and one for each element of an array, in the scope of its collection; those of composite
/// indexes have a form of their own (``CompositeKey``). A document below another one has one more, for itself, under
/// its collection's id: a collection group is the root collection of that id and what those entries name. As at
/// Firestore, a group's fields aren't indexed by default.
struct IndexEntry: Hashable, Sendable {
    /// What a reader must know that the key doesn't tell.
    struct Flags: OptionSet, Hashable, Sendable {
        var rawValue: UInt8

        /// A value was cut: then the order within equal bytes is not known from the key.
        static let isTruncated = Flags(rawValue: 1)
        /// The key's last value is a double; an equal integer has the same key.
        static let isDouble = Flags(rawValue: 2)
        /// The bytes of the document are inverted.
        static let namesDescend = Flags(rawValue: 4)

        static let all: Flags = [.isTruncated, .isDouble, .namesDescend]
    }

    var key: [UInt8]
    /// How many bytes of the key come before the document.
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
