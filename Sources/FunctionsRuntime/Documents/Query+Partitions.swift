public import DocumentModel

extension Query {
    /// Splits a collection group query, without filter, limit or order, into parts that can be read concurrently.
    ///
    /// - Parameter count: The maximum number of parts; there may be fewer.
    /// - Returns: Disjoint queries, ordered by name, that together return what this query returns.
    public func getPartitions(_ count: Int) async throws(DocumentError) -> [Query] {
        guard count > 0 else { throw .invalidArgument("a query can be split into 1 or more parts, not \(count)") }
        let whole = model.orderBy.isEmpty ? order(by: FieldPath.documentID) : self
        let (model, _) = try whole.resolved()
        guard count > 1 else { return [whole] }
        let points = try await firestore.transport.partition(model, points: count - 1).map { path in
            DocumentModel.Query.Cursor(
                values: [.reference(DocumentName(database: firestore.transport.database, path: path))], before: true)
        }
        return (0...points.count).map { index in
            var part = whole
            if index > 0 { part.model.start = points[index - 1] }
            if index < points.count { part.model.end = points[index] }
            return part
        }
    }
}
