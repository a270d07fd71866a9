import DocumentModel

/// The operations of the service, each with its expected type of response; failures are thrown.
extension DocumentREST {
    func documents(
        _ paths: [DocumentPath], _ consistency: ReadConsistency, _ principal: Principal
    ) async throws(DocumentError) -> (documents: [Document?], readTime: Timestamp) {
        let response = await service.perform(.get(paths, consistency), as: principal)
        guard case .documents(let documents, let readTime) = response else { throw response.refusal }
        return (documents, readTime)
    }

    func results(
        _ query: Query, _ consistency: ReadConsistency, _ principal: Principal
    ) async throws(DocumentError) -> (documents: [Document], readTime: Timestamp) {
        let response = await service.perform(.query(query, consistency), as: principal)
        guard case .results(let documents, let readTime) = response else { throw response.refusal }
        return (documents, readTime)
    }

    func aggregate(
        _ query: Query, _ fields: [AggregateField], _ consistency: ReadConsistency, _ principal: Principal
    ) async throws(DocumentError) -> (values: [Value], readTime: Timestamp) {
        let response = await service.perform(.aggregate(query, fields, consistency), as: principal)
        guard case .aggregated(let values, let readTime) = response, values.count == fields.count else {
            throw response.refusal
        }
        return (values, readTime)
    }

    func explain(
        _ query: Query, _ fields: [AggregateField], analyze: Bool, _ consistency: ReadConsistency,
        _ principal: Principal
    ) async throws(DocumentError) -> RESTExplainResult {
        let request = DocumentRequest.explain(query, fields, analyze: analyze, consistency)
        let response = await service.perform(request, as: principal)
        guard case .explained(let explanation, let results, let values, let readTime) = response else {
            throw response.refusal
        }
        return RESTExplainResult(explanation: explanation, results: results, values: values, readTime: readTime)
    }

    func partition(
        _ query: Query, points: Int, _ consistency: ReadConsistency, _ principal: Principal
    ) async throws(DocumentError) -> [DocumentPath] {
        let response = await service.perform(.partition(query, points: points, consistency), as: principal)
        guard case .partitioned(let paths, _) = response else { throw response.refusal }
        return paths
    }

    func batchWrite(
        _ writes: [Write], _ principal: Principal
    ) async throws(DocumentError) -> [Result<WriteResult, DocumentError>] {
        let response = await service.perform(.batchWrite(writes), as: principal)
        guard case .written(let results) = response, results.count == writes.count else { throw response.refusal }
        return results
    }

    func commit(
        _ writes: [Write], transaction: TransactionID?, _ principal: Principal
    ) async throws(DocumentError) -> CommitResult {
        let request = DocumentRequest.commit(writes, transaction: transaction, completing: nil)
        let response = await service.perform(request, as: principal)
        guard case .committed(let result) = response else { throw response.refusal }
        return result
    }

    func begin(_ mode: TransactionMode, _ principal: Principal) async throws(DocumentError) -> TransactionID {
        let response = await service.perform(.begin(mode), as: principal)
        guard case .began(let transaction, _) = response else { throw response.refusal }
        return transaction
    }

    func rollback(_ transaction: TransactionID, _ principal: Principal) async throws(DocumentError) {
        let response = await service.perform(.rollback(transaction), as: principal)
        guard case .rolledBack = response else { throw response.refusal }
    }
}

extension DocumentResponse {
    /// The error of a failed request. A response of any other kind is a bug in the host.
    fileprivate var refusal: DocumentError {
        switch self {
        case .failed(let error): error
        case .keyReused: .keyReused
        default: DocumentError(.internal, "the store returned a response of the wrong kind")
        }
    }
}

/// The result of explaining a query.
struct RESTExplainResult: Sendable {
    var explanation: QueryExplanation
    /// The documents, if a query was run.
    var results: [Document]
    /// The values, if an aggregation was run.
    var values: [Value]
    var readTime: Timestamp
}
