package import DocumentModel
package import UserModel

/// A handler's operation on documents, users or the Realtime Database, as a frame of the link carries it to the host.
package enum DocumentRequest: Hashable, Sendable {
    case get([DocumentPath], ReadConsistency)
    case query(Query, ReadConsistency)
    /// Finds the documents of a query whose vectors are nearest to one.
    case nearest(VectorSearch, of: Query, ReadConsistency)
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
    /// Lists the collections below a document, or at the root.
    case collections(below: DocumentPath?)
    /// Lists a page of a collection's documents, with those that don't exist and have documents below them.
    case list(DocumentListing)
    /// Lists a page of documents at any depth.
    case descendants(Descendants)
    case begin(TransactionMode)
    /// Begins a transaction that writes with its first read, so that both take one turn. What was read comes as prefetched;
    /// if it doesn't, it is to be read in the transaction.
    case beginReading(FirstRead)
    /// - Parameters:
    ///   - completing: The response of a transactional function, which becomes final with this commit.
    ///   - effects: Tasks and events that the commit causes; for admins only.
    case commit([Write], transaction: TransactionID?, completing: [UInt8]?, effects: [Effect] = [])
    /// Independent writes: each succeeds or fails on its own.
    case batchWrite([Write])
    case rollback(TransactionID)
    /// Names the idempotency key of the call, and claims its work.
    case claim(key: String, ClaimMode)
    /// Ends claimed work with its response; nil if it wasn't done.
    case settle([UInt8]?)
    /// An operation on users. In a transaction, its lookups are outside of it: the commit names what they found.
    case users(UserRequest)
    /// An operation on the Realtime Database. In a transaction, as with users.
    case database(DatabaseRequest)
    /// Commits a transaction that has read or changed more than documents.
    case commitAll(
        TransactionChanges, [Write], transaction: TransactionID, completing: [UInt8]?, effects: [Effect] = [])

    /// The function's response, if the request commits the handler's work as a whole. Once that is committed, the host ends
    /// the invocation with it: no ``Frame/Kind/result`` follows.
    package var completing: [UInt8]? {
        switch self {
        case .commit(_, _, let response, _), .commitAll(_, _, _, let response, _): response
        default: nil
        }
    }
}

/// The read that begins a transaction.
package enum FirstRead: Hashable, Sendable {
    case documents([DocumentPath])
    case query(Query)
}

/// How the work under an idempotency key is done.
package enum ClaimMode: UInt8, Hashable, Sendable {
    /// In a transaction, which stores the response: the key is only named.
    case transactional = 1
    case once
    /// Work that was begun and has no response may be begun again.
    case repeatable
}
