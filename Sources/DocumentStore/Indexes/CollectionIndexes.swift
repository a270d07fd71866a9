/// What a catalog has for the collections of one id, ready for looking up.
struct CollectionIndexes: Sendable {
    /// What queries may use.
    var ready: [IndexCatalog.Index] = []
    /// What writes keep up: those that are still being built too.
    var written: [IndexCatalog.Index] = []
    /// What each field has for queries.
    var served = FieldRules()
    /// What each field gets when it is written.
    var kept = FieldRules()
    /// What entries a field may have: while they are being brought in line, any.
    var possible = FieldRules()
}

/// A collection's id. Compared by its bytes: Swift's == on String folds canonically equivalent texts into one.
struct CollectionID: Hashable, Sendable {
    var text: String

    init(_ text: String) { self.text = text }

    static func == (a: CollectionID, b: CollectionID) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
