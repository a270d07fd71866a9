public import DocumentModel

/// How a query is executed, and its results if it was run.
public struct ExplainResults<Snapshot: Sendable>: Sendable {
    /// The indexes used, how they are combined, and the cost.
    public let metrics: QueryExplanation
    /// Nil if the query was only planned.
    public let snapshot: Snapshot?
}

extension Queryable {
    /// Explains how the query is executed, and its cost if it is run.
    ///
    /// - Parameter analyze: Whether to run the query; otherwise the result has neither a cost nor a snapshot.
    public func explain(analyze: Bool = false) async throws(DocumentError) -> ExplainResults<QuerySnapshot> {
        let query = query
        let (model, isReversed) = try query.resolved()
        let answer = try await query.firestore.transport.explain(model, [], analyze: analyze)
        let snapshot = analyze ? query.snapshot(of: answer.results, isReversed: isReversed) : nil
        return ExplainResults(metrics: answer.explanation, snapshot: snapshot)
    }
}
