import DocumentModel

/// The service's operations, each with the one answer it can have; a refusal is thrown.
extension DocumentREST {
    func documents(
        _ paths: [DocumentPath], transaction: TransactionID?, _ principal: Principal
    ) async throws(DocumentError) -> (documents: [Document?], readTime: Timestamp) {
        let response = await service.perform(.get(paths, ReadConsistency(transaction: transaction)), as: principal)
        guard case .documents(let documents, let readTime) = response else { throw response.refusal }
        return (documents, readTime)
    }

    func results(
        _ query: Query, transaction: TransactionID?, _ principal: Principal
    ) async throws(DocumentError) -> (documents: [Document], readTime: Timestamp) {
        let response = await service.perform(.query(query, ReadConsistency(transaction: transaction)), as: principal)
        guard case .results(let documents, let readTime) = response else { throw response.refusal }
        return (documents, readTime)
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
    /// The error it holds; an answer to another question is our own mistake.
    fileprivate var refusal: DocumentError {
        if case .failed(let error) = self { return error }
        return DocumentError(.internal, "the store gave another kind of answer")
    }
}
