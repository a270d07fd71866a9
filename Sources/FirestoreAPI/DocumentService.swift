package import DocumentModel

/// Documents as the public APIs reach them: every operation with the principal that requests it.
package protocol DocumentService: Sendable {
    func get(
        _ paths: [DocumentPath], _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> DocumentsAnswer

    func query(
        _ query: Query, _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> QueryAnswer

    func aggregate(
        _ query: Query, _ fields: [AggregateField], _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> AggregateAnswer

    /// For admins only: it reveals documents that a client may not see.
    func explain(
        _ query: Query, _ fields: [AggregateField], analyze: Bool, _ consistency: ReadConsistency,
        as principal: Principal
    ) async throws(DocumentError) -> ExplainAnswer

    /// For admins only: it reveals documents that a client may not see.
    func partition(
        _ query: Query, points: Int, _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> PartitionAnswer

    func begin(_ mode: TransactionMode, as principal: Principal) async throws(DocumentError) -> TransactionID

    func commit(
        _ writes: [Write], transaction: TransactionID?, as principal: Principal
    ) async throws(DocumentError) -> CommitResult

    func batchWrite(
        _ writes: [Write], as principal: Principal
    ) async throws(DocumentError) -> [Result<WriteResult, DocumentError>]

    func rollback(_ transaction: TransactionID, as principal: Principal) async throws(DocumentError)

    /// The ids of the collections directly below a document, or at the root, in order. For admins only.
    func collectionIDs(below parent: DocumentPath?, as principal: Principal) async throws(DocumentError) -> [String]

    /// The ids in a collection below which there are documents, whether or not there is a document of that id, in order. For
    /// admins only.
    func parents(
        in collection: CollectionPath, after: String?, atMost limit: Int, as principal: Principal
    ) async throws(DocumentError) -> [String]

    /// Deletes every document. For development.
    func clear() async throws(DocumentError)
}
