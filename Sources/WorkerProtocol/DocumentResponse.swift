package import DocumentModel

/// The response to a ``DocumentRequest``, as a frame of the link carries it to the worker.
package enum DocumentResponse: Hashable, Sendable {
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
    /// The ids of collections, in order.
    case collections([String])
    /// The ids of documents, in order, and the token of the next page.
    case listed([String], next: String?)
    case descendants([DocumentPath])
    /// - Parameter prefetched: The current state of what the retried transaction had read. It counts as read.
    case began(TransactionID, prefetched: [TransactionRead])
    case committed(CommitResult)
    /// One per write, in order.
    case written([Result<WriteResult, DocumentError>])
    case rolledBack
    /// The work under the key is the caller's to do.
    case claimed
    case settled
    /// The function already completed under the same idempotency key: this is its stored response.
    case completed([UInt8])
    /// The key was used with other data. On the wire it is the failure ``DocumentError/keyReused``.
    case keyReused
    /// The JSON of the answer to ``DocumentRequest/users(_:)``.
    case users([UInt8])
    /// The message of Identity Toolkit's error, such as `EMAIL_EXISTS`. Nothing was changed.
    case usersRefused(String)
    case database(DatabaseAnswer)
    case failed(DocumentError)
}
