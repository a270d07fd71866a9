/// The part of a catalog for the collections of one id, prepared for lookups.
struct CollectionIndexes: Sendable {
    /// The indexes that queries may use.
    var ready: [IndexCatalog.Index] = []
    /// The indexes that writes maintain, including those that are still being built.
    var written: [IndexCatalog.Index] = []
    /// The entries of each field that queries may use.
    var served = FieldRules()
    /// The entries of each field that writes create.
    var kept = FieldRules()
    /// The entries that a field may have; while they are being updated, it may have any.
    var possible = FieldRules()
}

/// A collection's id, compared by its bytes: Swift's == on String treats canonically equivalent texts as equal.
struct CollectionID: Hashable, Sendable {
    var text: String

    init(_ text: String) { self.text = text }

    static func == (a: CollectionID, b: CollectionID) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
