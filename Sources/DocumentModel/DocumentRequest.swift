/// An open transaction of the store.
public struct TransactionID: Hashable, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

public enum TransactionMode: Hashable, Sendable {
    /// - Parameter retrying: the transaction that was aborted and that this one tries again. It then gets its turn on
    ///   what it had read.
    case readWrite(retrying: TransactionID?)
    case readOnly
}

/// A document operation as one side asks it of the store.
///
/// The worker's link, REST and every other surface speak these; only the principal differs.
public enum DocumentRequest: Hashable, Sendable {
    case get([DocumentPath], transaction: TransactionID?)
    case query(Query, transaction: TransactionID?)
    case begin(TransactionMode)
    /// - Parameter completing: the answer of a transactional function, which becomes final with this commit and only
    ///   with it.
    case commit([Write], transaction: TransactionID?, completing: [UInt8]?)
    case rollback(TransactionID)
}

/// The store's answer to a ``DocumentRequest``, in the same order of cases.
public enum DocumentResponse: Hashable, Sendable {
    /// One for each path asked for, in that order; nil where there is no such document.
    case documents([Document?], readTime: Timestamp)
    case results([Document], readTime: Timestamp)
    /// - Parameter prefetched: what the transaction that is tried again had read, as it is now. These count as read.
    case began(TransactionID, prefetched: [TransactionRead])
    case committed(CommitResult)
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
