/// Identifies an open transaction of the store.
public struct TransactionID: Hashable, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

public enum TransactionMode: Hashable, Sendable {
    /// - Parameter retrying: The aborted transaction that this one retries. It gets priority on what that transaction
    ///   read.
    case readWrite(retrying: TransactionID?)
    /// All reads see one state: that of a time in the past, or without one that of the first read.
    case readOnly(at: Timestamp?)
}

/// The state of the store that a read sees.
public enum ReadConsistency: Hashable, Sendable {
    /// The latest state.
    case strong
    /// The transaction's state; the read becomes part of the transaction.
    case transaction(TransactionID)
    /// The state after all commits up to a time, which must not be in the future or older than the store's history.
    case at(Timestamp)

    /// The latest state outside a transaction.
    public init(transaction: TransactionID?) { self = transaction.map { .transaction($0) } ?? .strong }
}

/// A request for a document operation.
///
/// The worker link, REST and all other APIs use these requests; they differ only in the principal.
public enum DocumentRequest: Hashable, Sendable {
    case get([DocumentPath], ReadConsistency)
    case query(Query, ReadConsistency)
    /// Aggregates over a query's documents.
    case aggregate(Query, [AggregateField], ReadConsistency)
    /// Explains how a query, or with fields an aggregation, is executed.
    ///
    /// - Parameter analyze: Whether to run it and report its cost; otherwise it is only planned.
    case explain(Query, [AggregateField], analyze: Bool, ReadConsistency)
    /// Splits a query without filter and limit at document names, into parts of about the same size.
    ///
    /// - Parameter points: The maximum number of split points, one less than the number of parts.
    case partition(Query, points: Int, ReadConsistency)
    case begin(TransactionMode)
    /// - Parameters:
    ///   - completing: The response of a transactional function, which becomes final with this commit.
    ///   - effects: Tasks and events that the commit causes; for admins only.
    case commit([Write], transaction: TransactionID?, completing: [UInt8]?, effects: [Effect] = [])
    /// Independent writes: each succeeds or fails on its own.
    case batchWrite([Write])
    case rollback(TransactionID)
}

/// The response to a ``DocumentRequest``.
public enum DocumentResponse: Hashable, Sendable {
    /// One per requested path, in that order; nil if the document doesn't exist.
    case documents([Document?], readTime: Timestamp)
    case results([Document], readTime: Timestamp)
    /// One per requested field, in that order.
    case aggregated([Value], readTime: Timestamp)
    /// - Parameters:
    ///   - results: The documents of an analyzed query.
    ///   - values: The values of an analyzed aggregation.
    case explained(QueryExplanation, results: [Document], values: [Value], readTime: Timestamp)
    /// The documents at which parts begin, in the order of their names.
    case partitioned([DocumentPath], readTime: Timestamp)
    /// - Parameter prefetched: The current state of what the retried transaction had read. It counts as read.
    case began(TransactionID, prefetched: [TransactionRead])
    case committed(CommitResult)
    /// One per write, in order.
    case written([Result<WriteResult, DocumentError>])
    case rolledBack
    /// The function already completed under the same idempotency key: this is its stored response.
    case completed([UInt8])
    /// The key was used with other data. On the wire it is the failure ``DocumentError/keyReused``.
    case keyReused
    case failed(DocumentError)
}

public struct CommitResult: Hashable, Sendable {
    public var commitTime: Timestamp
    /// One per write, in order.
    public var writeResults: [WriteResult]

    public init(commitTime: Timestamp, writeResults: [WriteResult]) {
        self.commitTime = commitTime
        self.writeResults = writeResults
    }
}

/// One read of a transaction with its result.
public enum TransactionRead: Hashable, Sendable {
    case document(DocumentPath, Document?)
    case query(Query, [Document])
}
