package import DocumentModel

/// The entry point to a database's documents.
///
/// Paths are validated when an operation uses them: an invalid path fails with INVALID_ARGUMENT and the reason.
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

    /// All collections with this id, at any depth.
    public func collectionGroup(_ id: String) -> Query { Query(collectionGroup: id, firestore: self) }

    /// An empty batch of writes that are committed together.
    public func batch() -> WriteBatch { WriteBatch(firestore: self) }

    /// A writer for many documents; each write succeeds or fails on its own.
    public func bulkWriter() -> BulkWriter { BulkWriter(firestore: self) }

    /// Reads several documents in one round trip.
    ///
    /// - Returns: One snapshot per reference, in that order, whether the document exists or not.
    public func getAll(_ references: [DocumentReference]) async throws(DocumentError) -> [DocumentSnapshot] {
        var paths: [DocumentPath] = []
        paths.reserveCapacity(references.count)
        for reference in references { paths.append(try reference.validPath()) }
        guard !paths.isEmpty else { return [] }
        let documents = try await transport.get(paths).documents
        return zip(references, documents).map { DocumentSnapshot(reference: $0, document: $1) }
    }

    /// Reads several documents in one round trip.
    public func getAll(_ references: DocumentReference...) async throws(DocumentError) -> [DocumentSnapshot] {
        try await getAll(references)
    }

    /// Runs `body` in a transaction, and retries it after conflicts with concurrent transactions.
    ///
    /// - Parameters:
    ///   - attempts: The maximum number of attempts.
    ///   - body: Reads, then writes. It may run several times, so it must have no side effects outside the transaction.
    /// - Throws: The body's error, or the store's; `aborted` if every attempt lost. Nothing is written then.
    public func runTransaction<Result: Sendable>(
        attempts: Int = 5, _ body: @Sendable (Transaction) async throws -> Result
    ) async throws -> Result {
        try await runTransaction(.readWrite(attempts: attempts), body)
    }

    /// Runs `body` in a transaction with options: `.readOnly(at: yesterday)` reads a past state of the documents.
    ///
    /// - Parameters:
    ///   - body: As in ``runTransaction(attempts:_:)``.
    ///   - options: Whether it may write, and how often it is attempted; or which state it reads.
    /// - Throws: As there; `failedPrecondition` if the time is older than the store's history, or a read-only
    ///   transaction writes.
    public func runTransaction<Result: Sendable>(
        _ options: TransactionOptions, _ body: @Sendable (Transaction) async throws -> Result
    ) async throws -> Result {
        switch try await TransactionRunner(transport: transport, options: options).run(body) {
        case .committed(let result, _): return result
        case .completed:
            throw DocumentError(.internal, "the store returned a stored response for a transaction without a key")
        }
    }
}
