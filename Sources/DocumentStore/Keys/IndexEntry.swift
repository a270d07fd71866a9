import DocumentModel

/// One key of the index with what its row says about it.
///
/// A key is the scope, the field, the value and the document. Each document has an entry for each field, the fields
/// of maps among them, and one for each element of an array, in the scope of its collection. A document below another
/// one has one more, for itself, under its collection's id: a collection group is the root collection of that id and
/// what those entries name. As at Firestore, a group's fields aren't indexed by default.
struct IndexEntry: Hashable, Sendable {
    var key: [UInt8]
    /// How many bytes of the key come before the document.
    var documentOffset: Int
    /// Whether the value was cut: then the order within equal bytes is not known from the key.
    var isTruncated: Bool

    /// Four bytes: the flag and the offset.
    var row: [UInt8] {
        [
            isTruncated ? 1 : 0, UInt8(truncatingIfNeeded: documentOffset >> 16),
            UInt8(truncatingIfNeeded: documentOffset >> 8), UInt8(truncatingIfNeeded: documentOffset),
        ]
    }

    init(key: [UInt8], documentOffset: Int, isTruncated: Bool) {
        self.key = key
        self.documentOffset = documentOffset
        self.isTruncated = isTruncated
    }

    /// - Throws: `DecodingFailure` for a row that this program didn't write.
    init(key: [UInt8], row: [UInt8]) throws {
        guard row.count == 4, row[0] < 2 else { throw DecodingFailure("an index row has the wrong form") }
        let offset = Int(row[1]) << 16 | Int(row[2]) << 8 | Int(row[3])
        guard offset < key.count else { throw DecodingFailure("an index row points behind its key") }
        self.init(key: key, documentOffset: offset, isTruncated: row[0] == 1)
    }

    /// Scope, field and value: equal for the entries of equal values.
    var valueBytes: ArraySlice<UInt8> { key[..<documentOffset] }

    /// The document's id in a collection's scope, its path in a group's.
    var documentText: String { DocumentKeys.text(of: key[documentOffset...]) }
}
