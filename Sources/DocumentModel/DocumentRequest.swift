/// An open transaction of the store.
public struct TransactionID: Hashable, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

public enum TransactionMode: Hashable, Sendable {
    /// - Parameter retrying: the transaction that was aborted and that this one tries again. It then gets its turn on
    ///   what it had read.
    case readWrite(retrying: TransactionID?)
    /// All reads see one state: that of a time in the store's past, or of the first read where there is none.
    case readOnly(at: Timestamp?)
}

/// Which state of the store a read sees.
public enum ReadConsistency: Hashable, Sendable {
    /// The newest.
    case strong
    /// What the transaction sees; the read counts as one of it.
    case transaction(TransactionID)
    /// The state after all commits up to a time, which must not be in the future nor older than what the store keeps.
    case at(Timestamp)

    /// The newest state where there is no transaction.
    public init(transaction: TransactionID?) { self = transaction.map { .transaction($0) } ?? .strong }
}

/// A document operation as one side asks it of the store.
///
/// The worker's link, REST and every other surface speak these; only the principal differs.
public enum DocumentRequest: Hashable, Sendable {
    case get([DocumentPath], ReadConsistency)
    case query(Query, ReadConsistency)
    /// Numbers about a query's documents in place of the documents.
    case aggregate(Query, [AggregateField], ReadConsistency)
    /// How a query, or an aggregation where there are fields, is answered.
    ///
    /// - Parameter analyze: whether it is also run, for what that reads; else it is planned only.
    case explain(Query, [AggregateField], analyze: Bool, ReadConsistency)
    /// Places that split a query by name, which has neither filter nor limit, into parts of about the same size.
    ///
    /// - Parameter points: how many places at most; one less than there are to be parts.
    case partition(Query, points: Int, ReadConsistency)
    case begin(TransactionMode)
    /// - Parameters:
    ///   - completing: the answer of a transactional function, which becomes final with this commit and only with it.
    ///   - effects: what it causes besides its writes; for admins alone.
    case commit([Write], transaction: TransactionID?, completing: [UInt8]?, effects: [Effect] = [])
    /// Writes that stand for themselves: each is applied or refused whatever becomes of the others.
    case batchWrite([Write])
    case rollback(TransactionID)
}

/// The store's answer to a ``DocumentRequest``.
public enum DocumentResponse: Hashable, Sendable {
    /// One for each path asked for, in that order; nil where there is no such document.
    case documents([Document?], readTime: Timestamp)
    case results([Document], readTime: Timestamp)
    /// One for each field asked for, in that order.
    case aggregated([Value], readTime: Timestamp)
    /// - Parameters:
    ///   - results: the documents of an analyzed query.
    ///   - values: the values of an analyzed aggregation.
    case explained(QueryExplanation, results: [Document], values: [Value], readTime: Timestamp)
    /// The documents at which parts begin, in the order of their names.
    case partitioned([DocumentPath], readTime: Timestamp)
    /// - Parameter prefetched: what the transaction that is tried again had read, as it is now. These count as read.
    case began(TransactionID, prefetched: [TransactionRead])
    case committed(CommitResult)
    /// One for each write, in order.
    case written([Result<WriteResult, DocumentError>])
    case rolledBack
    /// The function's work was done before under the same key: this is the answer it gave then.
    case completed([UInt8])
    case failed(DocumentError)
}

public struct CommitResult: Hashable, Sendable {
    public var commitTime: Timestamp
    /// One for each write, in order.
    public var writeResults: [WriteResult]

    public init(commitTime: Timestamp, writeResults: [WriteResult]) {
        self.commitTime = commitTime
        self.writeResults = writeResults
    }
}

/// One read of a transaction with its answer.
public enum TransactionRead: Hashable, Sendable {
    case document(DocumentPath, Document?)
    case query(Query, [Document])
}
