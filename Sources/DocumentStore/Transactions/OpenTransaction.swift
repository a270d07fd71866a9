import DocumentModel

/// What a transaction has read.
struct ReadSet: Sendable {
    var documents: Set<DocumentPath> = []
    /// By the query asked for, so that asking twice counts once.
    var queries: [Query: NormalizedQuery] = [:]
    /// Those of them whose documents were not asked for: a second try doesn't get them in advance.
    var aggregated: Set<Query> = []

    var count: Int { documents.count + queries.count }

    mutating func formUnion(_ other: ReadSet) {
        documents.formUnion(other.documents)
        queries.merge(other.queries) { first, _ in first }
        aggregated.formUnion(other.aggregated)
    }

    /// What a second try takes turns on.
    var turnKeys: Set<TurnKey> {
        var keys = Set(documents.map(TurnKey.document))
        for query in queries.values { keys.insert(query.turnKey) }
        return keys
    }
}

extension NormalizedQuery {
    var turnKey: TurnKey { .collection(collection.string, isGroup: query.allDescendants) }
}

/// A transaction that has begun and not ended.
struct OpenTransaction: Sendable {
    let id: TransactionID
    let owner: UInt64?
    let isReadOnly: Bool
    let completion: CompletionKey?
    /// The version at which all that was read is current; nil before the first read, unless it was asked for.
    var version: Int64?
    var reads = ReadSet()
    let begun: Duration
    var used: Duration
    /// The second at which it is looked at again; see ``ExpiryBuckets``.
    var due: Int64 = 0
    /// Whether it read something that then was not kept.
    var isLost = false
}

/// An aborted transaction, for the one that tries it again.
struct RetryTicket: Sendable {
    var reads: ReadSet
    var owner: UInt64?
    var issued: Duration
}
