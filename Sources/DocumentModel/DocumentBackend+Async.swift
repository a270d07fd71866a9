/// The operations for callers that wait for the answer.
extension DocumentBackend {
    package func get(
        _ paths: [DocumentPath], _ consistency: ReadConsistency = .strong,
        in context: OperationContext = OperationContext()
    ) async throws(DocumentError) -> DocumentsAnswer {
        try await answer { get(paths, consistency, in: context, completion: $0) }
    }

    package func query(
        _ query: Query, _ consistency: ReadConsistency = .strong, in context: OperationContext = OperationContext()
    ) async throws(DocumentError) -> QueryAnswer {
        try await answer { self.query(query, consistency, in: context, completion: $0) }
    }

    package func nearest(
        _ search: VectorSearch, of query: Query, _ consistency: ReadConsistency = .strong,
        in context: OperationContext = OperationContext()
    ) async throws(DocumentError) -> QueryAnswer {
        try await answer { nearest(search, of: query, consistency, in: context, completion: $0) }
    }

    package func aggregate(
        _ query: Query, _ fields: [AggregateField], _ consistency: ReadConsistency = .strong,
        in context: OperationContext = OperationContext()
    ) async throws(DocumentError) -> AggregateAnswer {
        try await answer { aggregate(query, fields, consistency, in: context, completion: $0) }
    }

    package func explain(
        _ query: Query, _ fields: [AggregateField] = [], analyze: Bool, _ consistency: ReadConsistency = .strong,
        in context: OperationContext = OperationContext()
    ) async throws(DocumentError) -> ExplainAnswer {
        try await answer { explain(query, fields, analyze: analyze, consistency, in: context, completion: $0) }
    }

    package func partition(
        _ query: Query, points: Int, _ consistency: ReadConsistency = .strong,
        in context: OperationContext = OperationContext()
    ) async throws(DocumentError) -> PartitionAnswer {
        try await answer { partition(query, points: points, consistency, in: context, completion: $0) }
    }

    package func collectionIDs(
        below parent: DocumentPath?, in context: OperationContext = OperationContext()
    ) async throws(DocumentError) -> [String] {
        try await answer { collectionIDs(below: parent, in: context, completion: $0) }
    }

    package func list(
        _ page: DocumentListing, in context: OperationContext = OperationContext()
    ) async throws(DocumentError) -> ListingAnswer {
        try await answer { list(page, in: context, completion: $0) }
    }

    package func descendants(
        _ page: Descendants, in context: OperationContext = OperationContext()
    ) async throws(DocumentError) -> [DocumentPath] {
        try await answer { descendants(page, in: context, completion: $0) }
    }

    package func begin(
        _ mode: TransactionMode = .readWrite(retrying: nil), in context: OperationContext = OperationContext()
    ) async throws(DocumentError) -> BeginAnswer {
        try await answer { begin(mode, in: context, completion: $0) }
    }

    package func commit(
        _ writes: [Write], transaction: TransactionID? = nil, completing: [UInt8]? = nil, effects: [Effect] = [],
        in context: OperationContext = OperationContext()
    ) async throws(DocumentError) -> CommitAnswer {
        try await answer {
            commit(
                writes, transaction: transaction, completing: completing, effects: effects, in: context,
                completion: $0)
        }
    }

    package func batchWrite(
        _ writes: [Write], in context: OperationContext = OperationContext()
    ) async throws(DocumentError) -> [Result<WriteResult, DocumentError>] {
        try await answer { batchWrite(writes, in: context, completion: $0) }
    }

    package func rollback(
        _ transaction: TransactionID, in context: OperationContext = OperationContext()
    ) async throws(DocumentError) -> RollbackAnswer {
        try await answer { rollback(transaction, in: context, completion: $0) }
    }

    package func claim(
        isRepeatable: Bool = false, in context: OperationContext
    ) async throws(DocumentError) -> ClaimAnswer {
        try await answer { claim(isRepeatable: isRepeatable, in: context, completion: $0) }
    }

    package func settle(_ answer: [UInt8]?, in context: OperationContext) async throws(DocumentError) {
        try await self.answer { settle(answer, in: context, completion: $0) }
    }

    private func answer<Answer: Sendable>(
        _ operation: (@escaping Completion<Answer>) -> Void
    ) async throws(DocumentError) -> Answer {
        try await withCheckedContinuation { continuation in
            operation { continuation.resume(returning: $0) }
        }.get()
    }
}

extension CommitAnswer {
    /// The result of a commit without an idempotency key, which can't have been completed before.
    package var result: CommitResult {
        get throws(DocumentError) {
            guard case .committed(let result) = self else {
                throw DocumentError(.internal, "a commit without an idempotency key was answered with a kept answer")
            }
            return result
        }
    }
}
