package import DocumentModel

/// A handler's document operation, as a frame of the link carries it to the host.
package enum DocumentRequest: Hashable, Sendable {
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
