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
    /// The entries of a document with these values of the index's fields.
    ///
    /// - Parameter array: the index of the field whose elements have an entry each; nil if there is none.
    static func entries(
        of values: [Value], _ definition: IndexDefinition, array: Int?, _ document: DocumentPath, prefix: [UInt8]
    ) -> [IndexEntry] {
        let fields = definition.fields
        var common: IndexEntry.Flags = definition.namesDescend ? .namesDescend : []
        func append(_ indices: Range<Int>, to key: inout [UInt8]) {
            for index in indices where Self.append(values[index], fields[index].kind, to: &key) {
                common.insert(.isTruncated)
            }
        }
        /// What all entries have before the element, and after it.
        var (head, tail) = (prefix, [UInt8]())
        append(0..<(array ?? fields.count), to: &head)
        if let array { append(array + 1..<fields.count, to: &tail) }
        func entry(_ element: Value?) -> IndexEntry {
            var flags = common
            var key: [UInt8] = []
            key.reserveCapacity(head.count + tail.count + document.string.utf8.count + 24)
            key += head
            if let array, let element, Self.append(element, fields[array].kind, to: &key) { flags.insert(.isTruncated) }
            key += tail
            let last = array == fields.count - 1 ? element : values.last
            if case .double? = last { flags.insert(.isDouble) }
            let offset = key.count
            Self.append(document, definition.scope, descending: definition.namesDescend, to: &key)
            return IndexEntry(key: key, documentOffset: offset, flags: flags)
        }
        guard let array else { return [entry(nil)] }
        guard case .array(let elements) = values[array] else { return [] }
        return elements.map { entry($0) }
    }
}
