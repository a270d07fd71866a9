import DocumentModel

/// An operation with who asked for it and who waits for the answer.
struct StoreOperation: Sendable {
    var request: DocumentRequest
    var context: OperationContext
    var completion: @Sendable (DocumentResponse) -> Void
}

/// What reader threads do.
enum ReadJob: Sendable {
    case operation(StoreOperation)
    /// Something else on a snapshot of a version.
    case view(@Sendable (Result<(DocumentView, Timestamp), DocumentError>) -> Void)

    func fail(_ error: DocumentError) {
        switch self {
        case .operation(let operation): operation.completion(.failed(error))
        case .view(let body): body(.failure(error))
        }
    }
}

/// What the writer thread does.
enum WriteJob: Sendable {
    case operation(StoreOperation)
    /// Gives up the turns of transactions that ended, and what their owner waits for.
    case release(owner: UInt64, [TransactionID])
    case indexes(IndexJob)
    case outbox(OutboxJob)
}
