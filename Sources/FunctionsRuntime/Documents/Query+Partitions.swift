public import DocumentModel

extension Query {
    /// Splits the query, which is one over a collection group without filter, limit and order of its own, into parts to
    /// be read side by side.
    ///
    /// - Parameter count: how many parts at most; there are fewer where there are few documents.
    /// - Returns: queries ordered by name that have no document in common and together find what this one does.
    public func getPartitions(_ count: Int) async throws(DocumentError) -> [Query] {
        guard count > 0 else { throw .invalidArgument("a query is split into at least 1 part, not \(count)") }
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
