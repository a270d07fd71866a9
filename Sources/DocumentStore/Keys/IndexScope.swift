import DocumentModel

/// Whose documents a part of the index holds.
enum IndexScope: Hashable, Sendable {
    case collection(String)
    /// The collections of an id that are below a document. It holds the documents alone, not their fields.
    case group(String)

    /// What the keys of a field's values start with.
    static func prefix(ofCollection path: String, field: FieldPath, ofElements: Bool) -> [UInt8] {
        var key: [UInt8] = [ofElements ? 3 : 1]
        key += DocumentKeys.prefix(ofCollection: path)
        for segment in field.segments { KeyBytes.append(segment.utf8, to: &key) }
        key.append(0)
        return key
    }

    /// What the keys of a group's documents start with.
    static func groupPrefix(_ id: String) -> [UInt8] {
        var key: [UInt8] = [5]
        KeyBytes.append(id.utf8, to: &key)
        return key
    }

    /// The document as it stands at a key's end.
    func suffix(of path: DocumentPath) -> [UInt8] {
        var key: [UInt8] = []
        switch self {
        case .collection: KeyBytes.appendOpen(path.id.utf8, to: &key)
        case .group: DocumentKeys.append(path.string, to: &key)
        }
        return key
    }
}

/// The index entries of documents.
enum IndexEntries {
    /// The entries of some fields, which are all or those that changed.
    static func of(_ fields: [String: Value], path: DocumentPath) -> Set<IndexEntry> {
        guard !fields.isEmpty else { return [] }
        let collection = path.parent.string
        let suffix = IndexScope.collection(collection).suffix(of: path)
        var entries: Set<IndexEntry> = []
        for (name, value) in fields {
            append(value, at: [name], collection: collection, suffix: suffix, to: &entries)
        }
        return entries
    }

    /// The entry that a group has for a document, whatever its fields; nil for a root collection's.
    static func groupEntry(of path: DocumentPath) -> IndexEntry? {
        let collection = path.parent
        guard collection.parent != nil else { return nil }
        var key = IndexScope.groupPrefix(collection.id)
        let offset = key.count
        DocumentKeys.append(path.string, to: &key)
        return IndexEntry(key: key, documentOffset: offset, isTruncated: false)
    }

    private static func append(
        _ value: Value, at field: [String], collection: String, suffix: [UInt8], to entries: inout Set<IndexEntry>
    ) {
        let path = FieldPath(segments: field)
        func entry(_ value: Value, prefix: [UInt8]) -> IndexEntry {
            let (valueKey, truncated) = ValueKey.indexed(value)
            let start = prefix + valueKey
            return IndexEntry(key: start + suffix, documentOffset: start.count, isTruncated: truncated)
        }
        entries.insert(
            entry(value, prefix: IndexScope.prefix(ofCollection: collection, field: path, ofElements: false)))
        switch value {
        case .array(let elements):
            let prefix = IndexScope.prefix(ofCollection: collection, field: path, ofElements: true)
            for element in elements { entries.insert(entry(element, prefix: prefix)) }
        case .map(let fields) where value.vectorElements == nil:
            for (name, value) in fields {
                append(value, at: field + [name], collection: collection, suffix: suffix, to: &entries)
            }
        default: break
        }
    }
}
