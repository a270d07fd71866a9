public import DocumentModel

/// How a query is answered, and what it found where it was run.
public struct ExplainResults<Snapshot: Sendable>: Sendable {
    /// The indexes that are read, how they are put together, and what that cost.
    public let metrics: QueryExplanation
    /// Nil where the query was planned only.
    public let snapshot: Snapshot?
}

extension Queryable {
    /// Says how the query is answered, and what that costs where it is run.
    ///
    /// - Parameter analyze: whether it is run; else the answer has neither a cost nor a snapshot.
    public func explain(analyze: Bool = false) async throws(DocumentError) -> ExplainResults<QuerySnapshot> {
        let query = query
        let (model, isReversed) = try query.resolved()
        let answer = try await query.firestore.transport.explain(model, [], analyze: analyze)
        let snapshot = analyze ? query.snapshot(of: answer.results, isReversed: isReversed) : nil
        return ExplainResults(metrics: answer.explanation, snapshot: snapshot)
    }
}
