import StorageEngine
import DocumentModel

/// A range of adjacent keys through which a conjunction's documents can be found.
///
/// All keys start with `prefix`, which holds values that the conjunction requires. The rest of the key orders them: the
/// values of `suffix`, then the document's name.
struct IndexAccess {
    /// A field whose values order the keys, and its direction.
    struct Field: Hashable {
        var path: FieldPath
        var descending: Bool
    }

    enum Kind: Hashable {
        /// The documents themselves, or a group's entries for them.
        case walk
        /// The automatic entries of a field.
        case automatic(FieldPath, ofElements: Bool)
        case composite(IndexDefinition)
    }

    var kind: Kind
    var table: StorageTable
    var prefix: [UInt8]
    var suffix: [Field] = []
    var namesDescend = false
    /// Whether keys have a terminator after the name, so that inverting them inverts their order.
    var isTerminated = false
    /// The conjunction's equalities that the prefix requires, and whether no other document satisfies it.
    var equalities: [Int] = []
    var isExact = true

    /// Equal for accesses whose keys can be compared with each other after their prefixes.
    var signature: [Field] {
        suffix.map { Field(path: $0.path, descending: $0.descending != namesDescend) }
    }
}

/// Where a conjunction's documents are: in one collection, or in a group.
enum QueryTarget: Hashable {
    case collection(CollectionPath)
    case group(String)
}

extension Conjunction {
    /// All accesses that help to find the documents of a target, without the walk over all of them.
    func accesses(_ target: QueryTarget, _ catalog: IndexCatalog) -> [IndexAccess] {
        switch target {
        case .collection(let collection):
            let id = collection.id
            return automatic(collection.string, id, catalog)
                + catalog.ready(.collection, collectionID: id).compactMap { composite($0, collection.string) }
        case .group(let id):
            return catalog.ready(.collectionGroup, collectionID: id).compactMap { composite($0, nil) }
        }
    }

    /// The walk over all documents of a target.
    static func walk(_ target: QueryTarget, _ catalog: IndexCatalog) -> IndexAccess {
        switch target {
        case .collection(let collection):
            IndexAccess(
                kind: .walk, table: .documents, prefix: DocumentKeys.prefix(ofCollection: collection.string))
        // A group's entries are among those that are being recreated.
        case .group where catalog.isRebuilding: IndexAccess(kind: .walk, table: .documents, prefix: [])
        case .group(let id): IndexAccess(kind: .walk, table: .index, prefix: IndexScope.groupPrefix(id))
        }
    }

    private func automatic(_ collection: String, _ id: String, _ catalog: IndexCatalog) -> [IndexAccess] {
        var accesses: [IndexAccess] = []
        for (index, equality) in equalities.enumerated() {
            let (field, isElement) = (equality.field, equality.isElement)
            guard isElement ? catalog.hasElements(field, collectionID: id) : catalog.isOrdered(field, collectionID: id)
            else { continue }
            let (key, truncated) = ValueKey.indexed(equality.value)
            accesses.append(
                IndexAccess(
                    kind: .automatic(field, ofElements: isElement), table: .index,
                    prefix: IndexScope.prefix(ofCollection: collection, field: field, ofElements: isElement) + key,
                    equalities: [index], isExact: !truncated))
        }
        for field in orderedFields where orders[0].field == field || hasRange(field) {
            guard catalog.isOrdered(field, collectionID: id) else { continue }
            accesses.append(
                IndexAccess(
                    kind: .automatic(field, ofElements: false), table: .index,
                    prefix: IndexScope.prefix(ofCollection: collection, field: field, ofElements: false),
                    suffix: [IndexAccess.Field(path: field, descending: false)]))
        }
        return accesses
    }

    /// The access of a composite index; nil if the index lacks documents, or has more than one entry for some.
    private func composite(_ index: IndexCatalog.Index, _ collection: String?) -> IndexAccess? {
        let definition = index.definition
        var access = IndexAccess(
            kind: .composite(definition), table: .index,
            prefix: CompositeKey.prefix(index: index.id, collection: collection),
            namesDescend: definition.namesDescend, isTerminated: true)
        for field in definition.fields {
            let found = equalities.firstIndex { $0.field == field.path && $0.isElement == (field.kind == .contains) }
            if access.suffix.isEmpty, let found {
                access.equalities.append(found)
                if CompositeKey.append(equalities[found].value, field.kind, to: &access.prefix) {
                    access.isExact = false
                }
                continue
            }
            guard field.kind != .contains, requires(field.path) else { return nil }
            access.suffix.append(IndexAccess.Field(path: field.path, descending: field.kind == .descending))
        }
        let helps =
            !access.equalities.isEmpty
            || access.suffix.first.map { $0.path == orders[0].field || hasRange($0.path) } ?? false
        return helps ? access : nil
    }

    /// Fields with more than one value by which documents are ordered, or which must be in a range.
    private var orderedFields: [FieldPath] {
        var fields = orders.map(\.field)
        for leaf in leaves where value(of: leaf.field) == nil && !fields.contains(leaf.field) {
            fields.append(leaf.field)
        }
        return fields.filter { !$0.isDocumentID }
    }

    private func hasRange(_ field: FieldPath) -> Bool {
        leaves.contains { $0.field == field && $0.valueRanges != nil }
    }
}
