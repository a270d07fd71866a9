package import DocumentModel

/// The way to the documents of a database.
///
/// Paths are checked when an operation uses them: a collection or document that can't exist is refused there with
/// INVALID_ARGUMENT and a sentence that says why.
public struct Firestore: Sendable {
    package let transport: any DocumentTransport

    package init(transport: any DocumentTransport) { self.transport = transport }

    /// The collection at a path such as `users` or `users/ada/orders`.
    public func collection(_ path: String) -> CollectionReference {
        CollectionReference(firestore: self, path: path)
    }

    /// The document at a path such as `users/ada`.
    public func document(_ path: String) -> DocumentReference {
        DocumentReference(firestore: self, path: path)
    }

    /// Every collection with this id, wherever it is.
    public func collectionGroup(_ id: String) -> Query { Query(collectionGroup: id, firestore: self) }

    /// An empty set of writes, to be committed together.
    public func batch() -> WriteBatch { WriteBatch(firestore: self) }

    /// A writer of many documents, each stored or refused by itself.
    public func bulkWriter() -> BulkWriter { BulkWriter(firestore: self) }

    /// Reads several documents in one step.
    ///
    /// - Returns: one for each reference, in that order, whether the document exists or not.
    public func getAll(_ references: [DocumentReference]) async throws(DocumentError) -> [DocumentSnapshot] {
        var paths: [DocumentPath] = []
        paths.reserveCapacity(references.count)
        for reference in references { paths.append(try reference.validPath()) }
        guard !paths.isEmpty else { return [] }
        let documents = try await transport.get(paths).documents
        return zip(references, documents).map { DocumentSnapshot(reference: $0, document: $1) }
    }

    /// Reads several documents in one step.
    public func getAll(_ references: DocumentReference...) async throws(DocumentError) -> [DocumentSnapshot] {
        try await getAll(references)
    }

    /// Runs `body` in a transaction, and again where a concurrent one won.
    ///
    /// - Parameters:
    ///   - attempts: how often the body runs at most.
    ///   - body: what reads, then writes. It may run more than once, so it changes nothing outside the transaction.
    /// - Throws: what the body threw, or the store's refusal; `aborted` where every attempt lost. Nothing is written
    ///   then.
    public func runTransaction<Result: Sendable>(
        attempts: Int = 5, _ body: @Sendable (Transaction) async throws -> Result
    ) async throws -> Result {
        try await runTransaction(.readWrite(attempts: attempts), body)
    }

    /// Runs `body` in a transaction of a kind: `.readOnly(at: yesterday)` reads how the documents were then.
    ///
    /// - Parameter body: as in ``runTransaction(attempts:_:)``.
    /// - Throws: as there; `failedPrecondition` where the store doesn't keep states that old, or a read-only transaction
    ///   writes.
    public func runTransaction<Result: Sendable>(
        _ options: TransactionOptions, _ body: @Sendable (Transaction) async throws -> Result
    ) async throws -> Result {
        switch try await TransactionRunner(transport: transport, options: options).run(body) {
        case .committed(let result, _): return result
        case .completed: throw DocumentError(.internal, "the store answered a transaction with an earlier answer")
        }
    }
}
