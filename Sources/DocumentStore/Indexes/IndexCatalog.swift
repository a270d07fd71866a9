import DocumentModel

/// The indexes that one state of the store has.
///
/// Stored with the documents, so that a snapshot and its catalog always fit.
struct IndexCatalog: Sendable {
    enum State: UInt8, Hashable, Sendable {
        /// Kept up by writes, and lacking documents that were there before it.
        case building = 1
        /// It has every document, and only now queries may use it.
        case ready
        /// Wanted no more; its entries are being removed.
        case dropping
    }

    struct Index: Hashable, Sendable {
        /// Never used again for another definition.
        var id: UInt32
        var definition: IndexDefinition
        var state: State

        var isReady: Bool { state == .ready }
    }

    /// What the fields of collections with one id have of their own accord.
    struct Fields: Hashable, Sendable {
        var collectionID: String
        var exemptions: [FieldExemption]
        /// Those before, while entries are being brought in line: a query may use only what all of them leave.
        var earlier: [[FieldExemption]] = []

        var isSettled: Bool { earlier.isEmpty }
    }

    /// Grows with each change of the catalog.
    var generation: Int64
    var nextID: UInt32
    private(set) var indexes: [Index]
    private(set) var fields: [Fields]
    /// Whether all entries are being made anew: until they are, queries may use none of them.
    var isRebuilding: Bool
    /// By collection id; worked out from the rest.
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

    /// Those that queries on collections of an id may use.
    func ready(_ scope: IndexDefinition.Scope, collectionID: String) -> [Index] {
        guard !isRebuilding, let collection = of(collectionID) else { return [] }
        return collection.ready.filter { $0.definition.scope == scope }
    }

    /// Whether a field has entries for its order of its own accord.
    func isOrdered(_ field: FieldPath, collectionID: String) -> Bool {
        guard !isRebuilding else { return false }
        return of(collectionID)?.served.rules(of: field).isOrdered ?? true
    }

    /// Whether a field has entries for its array's elements of its own accord.
    func hasElements(_ field: FieldPath, collectionID: String) -> Bool {
        guard !isRebuilding else { return false }
        return of(collectionID)?.served.rules(of: field).hasElements ?? true
    }

    /// What there is besides the rule for collections of an id; nil where that is nothing.
    func of(_ collectionID: String) -> CollectionIndexes? {
        collections.isEmpty ? nil : collections[CollectionID(collectionID)]
    }

    /// The same for the collection a document stands in.
    func of(_ path: DocumentPath) -> CollectionIndexes? {
        collections.isEmpty ? nil : collections[CollectionID(path.parent.id)]
    }

    /// Replaces what there is, and grows the generation.
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
