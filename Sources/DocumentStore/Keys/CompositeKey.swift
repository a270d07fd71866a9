import StorageEngine
import DocumentModel

/// Keys of composite indexes: the index, the collection, the values, the document.
///
/// No code of a part is a prefix of another code, so a part's bytes can be inverted where the order descends. The
/// document has the direction of the last field that has one.
enum CompositeKey {
    /// The common start of an index's keys, and of one collection's if the index keeps each collection by itself.
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
        let start = key.count
        let truncated = ValueKey.appendIndexed(value, to: &key)
        if kind == .descending { for index in start..<key.count { key[index] = ~key[index] } }
        return truncated
    }

    /// Appends the document: its id if the index keeps each collection by itself, else its path.
    static func append(
        _ document: DocumentPath, _ scope: IndexDefinition.Scope, descending: Bool, to key: inout [UInt8]
    ) {
        let start = key.count
        switch scope {
        case .collection: DocumentKeys.append(document.id, to: &key)
        case .collectionGroup:
            DocumentKeys.append(document.string, to: &key)
            key.append(0)
        }
        guard descending else { return }
        for index in start..<key.count { key[index] = ~key[index] }
    }
}

extension IndexDefinition {
    /// Whether documents with equal values are ordered by descending name.
    var namesDescend: Bool { fields.last { $0.kind != .contains }?.kind == .descending }
}

extension CompositeKey {
    /// The entry of a document with these values of the index's fields.
    static func entry(
        of values: [Value], _ definition: IndexDefinition, _ document: DocumentPath, prefix: [UInt8]
    ) -> IndexEntry {
        var key = prefix
        var flags: IndexEntry.Flags = []
        for (value, field) in zip(values, definition.fields) where append(value, field.kind, to: &key) {
            flags.insert(.isTruncated)
        }
        if case .double? = values.last { flags.insert(.isDouble) }
        if definition.namesDescend { flags.insert(.namesDescend) }
        let offset = key.count
        append(document, definition.scope, descending: definition.namesDescend, to: &key)
        return IndexEntry(key: key, documentOffset: offset, flags: flags)
    }
}
