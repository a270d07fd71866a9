package import DocumentModel

/// Work for the writer's thread.
package protocol CommitJob: Sendable {
    /// Does the work in the open batch.
    ///
    /// - Throws: if the batch can't go on. The job has registered no answer then: ``fail(_:)`` is called.
    func run(in batch: CommitBatch) throws

    /// Called if the batch failed before the job was done.
    func fail(_ error: DocumentError)

    /// The transaction that the job ends; nil if it ends none.
    var endedTransaction: TransactionID? { get }
}

extension CommitJob {
    package var endedTransaction: TransactionID? { nil }
}
