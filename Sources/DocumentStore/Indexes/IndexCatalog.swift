import DocumentModel

/// The indexes of one state of the store.
///
/// Stored with the documents, so that a snapshot always has the matching catalog.
struct IndexCatalog: Sendable {
    enum State: UInt8, Hashable, Sendable {
        /// Writes maintain it, but it lacks documents that are older than the index.
        case building = 1
        /// It has every document; only now queries may use it.
        case ready
        /// It is no longer configured; its entries are being removed.
        case dropping
    }

    struct Index: Hashable, Sendable {
        /// Never reused for another definition.
        var id: UInt32
        var definition: IndexDefinition
        var state: State

        var isReady: Bool { state == .ready }
    }

    /// The automatic indexes of fields in collections with one id.
    struct Fields: Hashable, Sendable {
        var collectionID: String
        var exemptions: [FieldExemption]
        /// The earlier exemptions while entries are being updated: a query may use only what all of them leave.
        var earlier: [[FieldExemption]] = []

        var isSettled: Bool { earlier.isEmpty }
    }

    /// Incremented by each change of the catalog.
    private(set) var generation: Int64
    var nextID: UInt32
    private(set) var indexes: [Index]
    private(set) var fields: [Fields]
    /// Whether all entries are being recreated: queries use none of them until that is done.
    var isRebuilding: Bool
    /// By collection id; derived from the rest.
    private var collections: [CollectionID: CollectionIndexes] = [:]

    init(
        generation: Int64 = 0, nextID: UInt32 = 1, indexes: [Index] = [], fields: [Fields] = [],
        isRebuilding: Bool = false
    ) {
        self.generation = generation
        self.nextID = nextID
        self.indexes = indexes
        self.fields = fields
        self.isRebuilding = isRebuilding
        workOut()
    }

    /// The indexes that queries on collections of an id may use.
    func ready(_ scope: IndexDefinition.Scope, collectionID: String) -> [Index] {
        guard !isRebuilding, let collection = of(collectionID) else { return [] }
        return collection.ready.filter { $0.definition.scope == scope }
    }

    /// Whether a field has automatic entries for its order.
    func isOrdered(_ field: FieldPath, collectionID: String) -> Bool {
        guard !isRebuilding else { return false }
        return of(collectionID)?.served.rules(of: field).isOrdered ?? true
    }

    /// Whether a field has automatic entries for its array's elements.
    func hasElements(_ field: FieldPath, collectionID: String) -> Bool {
        guard !isRebuilding else { return false }
        return of(collectionID)?.served.rules(of: field).hasElements ?? true
    }

    /// The indexes for collections of an id, if they differ from the default; nil if they don't.
    func of(_ collectionID: String) -> CollectionIndexes? {
        collections.isEmpty ? nil : collections[CollectionID(collectionID)]
    }

    /// The same for the collection that contains a document.
    func of(_ path: DocumentPath) -> CollectionIndexes? {
        collections.isEmpty ? nil : collections[CollectionID(path.parent.id)]
    }

    /// Replaces the indexes and fields, and increments the generation.
    mutating func set(indexes: [Index], fields: [Fields]) {
        self.indexes = indexes
        self.fields = fields.filter { !$0.exemptions.isEmpty || !$0.isSettled }
        generation += 1
        workOut()
    }

    private mutating func workOut() {
        collections = [:]
        for index in indexes where index.state != .dropping {
            let id = CollectionID(index.definition.collectionID)
            collections[id, default: CollectionIndexes()].written.append(index)
            if index.isReady { collections[id, default: CollectionIndexes()].ready.append(index) }
        }
        for fields in fields {
            let kept = FieldRules([fields.exemptions])
            collections[CollectionID(fields.collectionID), default: CollectionIndexes()].kept = kept
            collections[CollectionID(fields.collectionID), default: CollectionIndexes()].possible =
                fields.isSettled ? kept : FieldRules()
            collections[CollectionID(fields.collectionID), default: CollectionIndexes()].served =
                FieldRules([fields.exemptions] + fields.earlier)
        }
    }
}
