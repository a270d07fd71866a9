/// Documents by path.
package struct DocumentsAnswer: Hashable, Sendable {
    /// One for each path, in that order; nil if there is no such document.
    package var documents: [Document?]
    package var readTime: Timestamp

    package init(documents: [Document?], readTime: Timestamp) {
        self.documents = documents
        self.readTime = readTime
    }
}

/// The documents of a query, in its order.
package struct QueryAnswer: Hashable, Sendable {
    package var documents: [Document]
    package var readTime: Timestamp

    package init(documents: [Document], readTime: Timestamp) {
        self.documents = documents
        self.readTime = readTime
    }
}

/// Numbers about a query's documents.
package struct AggregateAnswer: Hashable, Sendable {
    /// One for each field, in that order.
    package var values: [Value]
    package var readTime: Timestamp

    package init(values: [Value], readTime: Timestamp) {
        self.values = values
        self.readTime = readTime
    }
}

/// How a query is answered.
package struct ExplainAnswer: Hashable, Sendable {
    package var explanation: QueryExplanation
    /// The documents of a query that was run.
    package var documents: [Document]
    /// The values of an aggregation that was run.
    package var values: [Value]
    package var readTime: Timestamp

    package init(explanation: QueryExplanation, documents: [Document], values: [Value], readTime: Timestamp) {
        self.explanation = explanation
        self.documents = documents
        self.values = values
        self.readTime = readTime
    }
}

/// The ids of a page of a collection's documents, in order.
package struct ListingAnswer: Hashable, Sendable {
    package var ids: [String]
    /// The token of the next page; nil after the last.
    package var next: String?

    package init(ids: [String], next: String?) {
        self.ids = ids
        self.next = next
    }
}

/// The documents at which the parts of a query begin, in the order of their names.
package struct PartitionAnswer: Hashable, Sendable {
    package var points: [DocumentPath]
    package var readTime: Timestamp

    package init(points: [DocumentPath], readTime: Timestamp) {
        self.points = points
        self.readTime = readTime
    }
}

/// The answer to beginning a transaction.
package enum BeginAnswer: Hashable, Sendable {
    /// - Parameter prefetched: what the retried transaction had read, as it is now. These count as read.
    case began(TransactionID, prefetched: [TransactionRead])
    /// The function's work was done before under the same key: this is the answer it gave then.
    case completed([UInt8])
    /// The key was used with other data, which is the caller's mistake.
    case keyReused
}

/// The answer to a commit.
package enum CommitAnswer: Hashable, Sendable {
    case committed(CommitResult)
    /// The function's work was done before under the same key: this is the answer it gave then.
    case completed([UInt8])
    /// The key was used with other data, which is the caller's mistake.
    case keyReused
}

/// The answer to a rollback.
package enum RollbackAnswer: Hashable, Sendable {
    case rolledBack
    /// The function's work turns out to have been done before under the same key: this is the answer it gave then.
    case completed([UInt8])
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

extension DocumentError {
    /// The refusal of an Idempotency-Key that was used with other data, as a caller sees it.
    public static let keyReused = DocumentError.invalidArgument("this Idempotency-Key was used with other data")
}
