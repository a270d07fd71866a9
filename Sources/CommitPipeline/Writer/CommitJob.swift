package import DocumentModel

/// Work for the writer's thread.
package protocol CommitJob: Sendable {
    /// Does the work in the open batch.
    ///
    /// - Throws: if the batch can't go on. Then the job has registered no answer: ``fail(_:)`` is called.
    func run(in batch: CommitBatch) throws

    /// The batch failed before the job was through.
    func fail(_ error: DocumentError)
}
