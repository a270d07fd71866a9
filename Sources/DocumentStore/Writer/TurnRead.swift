import CommitPipeline
import DocumentModel

/// A transaction's read of hot documents. The writer does it when it is the transaction's turn on them, in the newest state.
struct TurnRead: CommitJob {
    let read: GetRead
    let transaction: TransactionID
    /// Those of the documents for which it waits.
    let hot: Set<DocumentPath>

    func run(in batch: CommitBatch) { read.store.writer.turns.wait(self) }

    func fail(_ error: DocumentError) { read.fail(error) }

    /// Reads, and answers.
    ///
    /// - Returns: whether the transaction, or its retry, can use its turn.
    func perform(in batch: CommitBatch, _ catalog: IndexCatalog) -> Bool {
        guard read.isWanted else {
            read.fail(.callerLeft)
            return false
        }
        do {
            let view = DocumentView(batch.storage, catalog)
            guard let answer = try read.answer(from: view, version: batch.versions.applied) else {
                throw DocumentError(.internal, "a transaction has seen a state that is still to come")
            }
            read.complete(.success(answer))
            return true
        } catch {
            let error = DocumentError(from: error)
            read.fail(error)
            return error.code == .aborted
        }
    }
}
