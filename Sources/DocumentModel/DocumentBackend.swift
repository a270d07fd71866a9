/// The documents that functions reach: the embedded store's, or those of a service elsewhere.
///
/// No operation blocks its caller. Each calls its completion once, on any thread, which must not block there.
package protocol DocumentBackend: Sendable {
    typealias Completion<Answer> = @Sendable (Result<Answer, DocumentError>) -> Void

    /// Reads documents by their paths.
    func get(
        _ paths: [DocumentPath], _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<DocumentsAnswer>)

    func query(
        _ query: Query, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<QueryAnswer>)

    /// Finds the documents of a query whose vectors are nearest to one, the nearest first.
    ///
    /// - Parameter query: the candidates; without limit, offset and cursors.
    func nearest(
        _ search: VectorSearch, of query: Query, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<QueryAnswer>)

    /// Computes numbers about a query's documents.
    func aggregate(
        _ query: Query, _ fields: [AggregateField], _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<AggregateAnswer>)

    /// Says how a query is answered, or an aggregation if there are fields.
    ///
    /// - Parameter analyze: whether to run it as well, for what that reads.
    func explain(
        _ query: Query, _ fields: [AggregateField], analyze: Bool, _ consistency: ReadConsistency,
        in context: OperationContext, completion: @escaping Completion<ExplainAnswer>)

    /// Finds at most `points` document names that split a query into parts of about the same size. The query is ordered
    /// by name and has neither filter nor limit.
    func partition(
        _ query: Query, points: Int, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<PartitionAnswer>)

    /// Lists the collections below a document, or at the root, that contain documents at any depth. For admins only.
    func collectionIDs(
        below parent: DocumentPath?, in context: OperationContext, completion: @escaping Completion<[String]>)

    /// Lists a page of a collection's documents in the order of their ids, with those that don't exist and have
    /// documents below them. For admins only.
    func list(
        _ page: DocumentListing, in context: OperationContext, completion: @escaping Completion<ListingAnswer>)

    /// Lists a page of documents at any depth, in an order of the backend's own. For admins only.
    func descendants(
        _ page: Descendants, in context: OperationContext, completion: @escaping Completion<[DocumentPath]>)

    /// Begins a transaction, unless the function's work was done before under the context's key.
    func begin(_ mode: TransactionMode, in context: OperationContext, completion: @escaping Completion<BeginAnswer>)

    /// Commits writes, in a transaction if there is one.
    ///
    /// - Parameters:
    ///   - completing: the answer of a transactional function, which becomes final with this commit and only with it.
    ///   - effects: what the commit causes besides its writes; for admins alone.
    func commit(
        _ writes: [Write], transaction: TransactionID?, completing: [UInt8]?, effects: [Effect],
        in context: OperationContext, completion: @escaping Completion<CommitAnswer>)

    /// Applies writes each for itself: one that is refused doesn't keep the others from being applied.
    func batchWrite(
        _ writes: [Write], in context: OperationContext,
        completion: @escaping Completion<[Result<WriteResult, DocumentError>]>)

    func rollback(
        _ transaction: TransactionID, in context: OperationContext, completion: @escaping Completion<RollbackAnswer>)

    /// Claims the work under the context's idempotency key for the context's owner, outside of transactions. Waits while
    /// another owner is at it.
    ///
    /// - Parameter isRepeatable: whether work that was begun and has no answer may be begun again; otherwise the claim
    ///   fails with ``DocumentError/outcomeUnknown``.
    func claim(
        isRepeatable: Bool, in context: OperationContext, completion: @escaping Completion<ClaimAnswer>)

    /// Ends claimed work with its answer; with nil because it wasn't done.
    func settle(_ answer: [UInt8]?, in context: OperationContext, completion: @escaping Completion<Void>)

    /// Rolls back all transactions that were begun under an owner whose work is over. Operations of the owner that have
    /// no answer yet may be given up, and its claims are.
    func release(owner: UInt64)
}
