import DocumentModel

/// What a transaction has read.
struct ReadSet: Sendable {
    private(set) var documents: Set<DocumentPath>
    /// By the original query, so that reading it twice counts once.
    private(set) var queries: [Query: NormalizedQuery]
    /// The queries whose documents were not returned: they aren't prefetched for a retry.
    private(set) var aggregated: Set<Query>
    /// The cost of recording the reads, in units of a document with a short name.
    private(set) var weight: Int

    init(
        documents: Set<DocumentPath> = [], queries: [Query: NormalizedQuery] = [:], aggregated: Set<Query> = []
    ) {
        self.documents = documents
        self.queries = queries
        self.aggregated = aggregated
        weight =
            documents.reduce(0) { $0 + Self.weight(of: $1) } + queries.values.reduce(0) { $0 + Self.weight(of: $1) }
    }

    var count: Int { documents.count + queries.count }

    mutating func formUnion(_ other: ReadSet) {
        for path in other.documents where documents.insert(path).inserted { weight += Self.weight(of: path) }
        for (query, normalized) in other.queries where queries[query] == nil {
            queries[query] = normalized
            weight += Self.weight(of: normalized)
        }
        aggregated.formUnion(other.aggregated)
    }

    /// The number of different queries in this and another read set.
    func queryCount(with other: ReadSet) -> Int {
        queries.count + other.queries.keys.reduce(0) { queries[$1] == nil ? $0 + 1 : $0 }
    }

    private static func weight(of path: DocumentPath) -> Int { 1 + path.string.utf8.count / 128 }

    private static func weight(of query: NormalizedQuery) -> Int { query.heldBytes / 128 }

    /// The queries by the keys of their collections and groups.
    var queriesByPlace: [TurnKey: [NormalizedQuery]] { Dictionary(grouping: queries.values, by: \.turnKey) }

    /// The keys on which a retry takes turns.
    var turnKeys: Set<TurnKey> {
        var keys = Set(documents.map(TurnKey.document))
        for query in queries.values { keys.insert(query.turnKey) }
        return keys
    }
}

extension DocumentPath {
    /// The keys of the queries that can cover the document.
    var queryKeys: [TurnKey] {
        let collection = parent
        return [.collection(collection.string, isGroup: false), .collection(collection.id, isGroup: true)]
    }
}

extension NormalizedQuery {
    var turnKey: TurnKey { .collection(collection.string, isGroup: query.allDescendants) }
}
