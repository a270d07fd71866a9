import DocumentModel

/// Keys of the indexes that are not every field's own: the index, the collection, the values, the document.
///
/// Each part is a code of which none is a prefix of another, so that its bytes can be inverted where the order
/// descends. The document has the direction of the last field with one.
enum CompositeKey {
    /// What the keys of an index start with, and of a collection where it keeps each on its own.
    static func prefix(index: UInt32, collection: String?) -> [UInt8] {
        var key: [UInt8] = [7]
        for shift in stride(from: 24, through: 0, by: -8) { key.append(UInt8(truncatingIfNeeded: index >> shift)) }
        if let collection { key += DocumentKeys.prefix(ofCollection: collection) }
        return key
    }

    /// Appends one field's value.
    ///
    /// - Returns: whether the value was cut.
    @discardableResult
    static func append(_ value: Value, _ kind: IndexDefinition.Kind, to key: inout [UInt8]) -> Bool {
        let (bytes, truncated) = ValueKey.indexed(value)
        if kind == .descending { key += bytes.map { ~$0 } } else { key += bytes }
        return truncated
    }

    /// Appends the document: its id where each collection is on its own, its path else.
    static func append(
        _ document: DocumentPath, _ scope: IndexDefinition.Scope, descending: Bool, to key: inout [UInt8]
    ) {
        let start = key.count
        switch scope {
        case .collection: KeyBytes.append(document.id.utf8, to: &key)
        case .collectionGroup:
            DocumentKeys.append(document.string, to: &key)
            key.append(0)
        }
        guard descending else { return }
        for index in start..<key.count { key[index] = ~key[index] }
    }
}

extension IndexDefinition {
    /// Whether documents with equal values follow each other from the last name to the first.
    var namesDescend: Bool { fields.last { $0.kind != .contains }?.kind == .descending }
}
