import CommitPipeline
import StorageEngine
import DocumentModel

/// Computes the index entries of one document: all of them, or those of some fields.
struct IndexEntries {
    private(set) var entries: [IndexEntry] = []
    private let path: DocumentPath
    private let suffix: [UInt8]
    /// The common start of the entries of all fields, and that of the current field.
    private var stem: [UInt8]

    private static let ofValues: UInt8 = 1
    private static let ofElements: UInt8 = 3

    init(_ path: DocumentPath) {
        self.path = path
        let collection = path.parent.string
        suffix = IndexScope.suffix(of: path)
        stem = []
        stem.reserveCapacity(collection.utf8.count + 64)
        stem.append(Self.ofValues)
        DocumentKeys.append(collection, to: &stem)
        stem.append(0)
    }

    /// All entries of a document, each key once.
    static func all(of document: Document, _ catalog: IndexCatalog) -> [IndexEntry] {
        let indexes = catalog.of(document.path)
        var all = IndexEntries(document.path)
        all.append(document.fields, indexes?.kept)
        for index in indexes?.written ?? [] { all.append(document.fields, index) }
        if let entry = groupEntry(of: document.path) { all.entries.append(entry) }
        return Array(all.byKey.values)
    }

    /// A group's entry for a document, whatever its fields; nil for a document in a root collection.
    static func groupEntry(of path: DocumentPath) -> IndexEntry? {
        let collection = path.parent
        guard collection.parent != nil else { return nil }
        var key = IndexScope.groupPrefix(collection.id)
        let offset = key.count
        DocumentKeys.append(path.string, to: &key)
        return IndexEntry(key: key, documentOffset: offset)
    }

    /// Entries by key; the last one with a key counts: an array's elements 1 and 1.0 have the same key.
    var byKey: [[UInt8]: IndexEntry] { Dictionary(entries.map { ($0.key, $0) }, uniquingKeysWith: { $1 }) }

    /// The same entries in the order of keys.
    var sorted: [IndexEntry] {
        guard entries.count > 1 else { return entries }
        let order = entries.indices.sorted { a, b in
            let (keyA, keyB) = (entries[a].key, entries[b].key)
            return keyA.lexicographicallyPrecedes(keyB) || (a < b && keyA == keyB)
        }
        var sorted: [IndexEntry] = []
        sorted.reserveCapacity(entries.count)
        for index in order {
            if sorted.last?.key == entries[index].key { sorted.removeLast() }
            sorted.append(entries[index])
        }
        return sorted
    }

    /// Appends the automatic entries of fields. Without rules each field has all of them.
    mutating func append(_ fields: [String: Value], _ rules: FieldRules?) {
        for (name, value) in fields { append(value, name, rules?.rules(below: name)) }
    }

    private mutating func append(_ value: Value, _ name: String, _ rules: FieldRules?) {
        let start = stem.count
        KeyBytes.append(name.utf8, to: &stem)
        if rules?.isOrdered ?? true { append(value, Self.ofValues) }
        switch value {
        case .array(let elements) where rules?.hasElements ?? true:
            for element in elements { append(element, Self.ofElements) }
        case .map(let fields) where value.vectorElements == nil: append(fields, rules)
        default: break
        }
        stem.removeLast(stem.count - start)
    }

    private mutating func append(_ value: Value, _ kind: UInt8) {
        var key: [UInt8] = []
        key.reserveCapacity(stem.count + suffix.count + 24)
        key.append(kind)
        key += stem.dropFirst()
        key.append(0)
        var flags: IndexEntry.Flags = ValueKey.appendIndexed(value, to: &key) ? .isTruncated : []
        if case .double = value { flags.insert(.isDouble) }
        let offset = key.count
        key += suffix
        entries.append(IndexEntry(key: key, documentOffset: offset, flags: flags))
    }

    /// Appends a document's entries in a composite index: none if a field is missing.
    mutating func append(_ fields: [String: Value], _ index: IndexCatalog.Index) {
        let definition = index.definition
        var values: [Value] = []
        for field in definition.fields {
            guard let value = Value.map(fields)[field.path] else { return }
            values.append(value)
        }
        let prefix = CompositeKey.prefix(
            index: index.id, collection: definition.scope == .collection ? path.parent.string : nil)
        let array = definition.fields.firstIndex { $0.kind == .contains }
        entries += CompositeKey.entries(of: values, definition, array: array, path, prefix: prefix)
    }
}
