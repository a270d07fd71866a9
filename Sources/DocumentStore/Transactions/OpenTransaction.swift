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

/// A transaction that has begun and not ended.
struct OpenTransaction: Sendable {
    let id: TransactionID
    let owner: UInt64?
    /// Whether the transaction is subject to a policy; if so, it is retried without a turn.
    let isClient: Bool
    let isReadOnly: Bool
    /// The transaction that its client named when it began again: the last attempt or, with some clients, the first.
    var retried: TransactionID?
    let completion: CompletionKey?
    /// The version at which all reads are current; nil before the first read, unless a version was requested.
    var version: Int64?
    var reads = ReadSet()
    let begun: Duration
    var used: Duration
    /// The second at which its expiry is checked next; see ``ExpiryBuckets``.
    var due: Int64 = 0
    /// Whether it read something that was rolled back afterwards.
    var isLost = false
    /// Whether it has had a turn, or has waited for one.
    var hasTakenTurn = false
}

/// The record of an aborted transaction, for the transaction that retries it.
struct RetryTicket: Sendable {
    /// The transaction that was aborted.
    var transaction: TransactionID
    /// An earlier attempt, by which the client may name it too.
    var alias: TransactionID?
    var reads: ReadSet
    var owner: UInt64?
    var issued: Duration
}
