import CommitPipeline
import DocumentModel

/// A transaction's read of hot documents. It is done when it is the transaction's turn on them, in the newest state: by
/// the writer if it is short.
struct TurnRead: CommitJob {
    let read: GetRead
    let transaction: TransactionID
    /// Those of the documents for which it waits.
    let hot: Set<DocumentPath>

    /// The documents that the writer reads at once at most: all commits wait meanwhile.
    private static let maxDocuments = 20

    /// Whether it is answered in the open batch.
    var isShort: Bool { read.paths.count <= Self.maxDocuments }

    func run(in batch: CommitBatch) { read.store.writer.turns.wait(self) }

    func fail(_ error: DocumentError) { read.fail(error) }

    /// Reads, and answers; a reader does it once the batch is durable if there is much to read.
    ///
    /// - Returns: whether the transaction, or its retry, can use its turn.
    func perform(in batch: CommitBatch, _ catalog: IndexCatalog) -> Bool {
        guard read.isWanted else {
            read.fail(.callerLeft)
            return false
        }
        guard isShort else {
            LaterRead(read: read).run(in: batch)
            return true
        }
        do {
            read.complete(.success(try answer(in: batch, catalog)))
            return true
        } catch {
            let error = DocumentError(from: error)
            read.fail(error)
            return error.code == .aborted
        }
    }

    private func answer(in batch: CommitBatch, _ catalog: IndexCatalog) throws -> DocumentsAnswer {
        let (store, version) = (read.store, batch.versions.applied)
        // The transaction before has mostly just changed them.
        if let known = store.parts.findInBatch(read.paths),
            let answer = store.answer(
                DocumentCache.Found(documents: known.documents, version: version), read.paths, in: transaction,
                read.context)
        {
            return try answer.get()
        }
        guard let answer = try read.answer(from: DocumentView(batch.storage, catalog), version: version) else {
            throw DocumentError(.internal, "a transaction has seen a state that is still to come")
        }
        return answer
    }
}
