package import DocumentModel
package import WorkerProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends document operations to a store: over the worker link, to an engine in the same process, or to a remote
/// service.
package protocol DocumentTransport: Sendable {
    /// The database that the operations apply to.
    var database: DatabaseID { get }

    /// The store's current time, from which delays are counted.
    var now: Timestamp { get }

    /// Whether a transaction that writes can begin with its first read, because no earlier attempt may have done its work.
    var beginsWithReads: Bool { get }

    /// Performs one operation.
    ///
    /// - Throws: The store's error. An implementation throws it, and never returns `.failed`.
    func send(_ request: DocumentRequest) async throws(DocumentError) -> DocumentResponse
}

extension DocumentTransport {
    package var now: Timestamp { Timestamp(date: Date()) }

    package var beginsWithReads: Bool { false }

    func get(
        _ paths: [DocumentPath], transaction: TransactionID? = nil
    ) async throws(DocumentError) -> (documents: [DocumentModel.Document?], readTime: Timestamp) {
        let response = try await send(.get(paths, ReadConsistency(transaction: transaction)))
        guard case .documents(let documents, let readTime) = response, documents.count == paths.count else {
            throw .unexpected(response, to: "get")
        }
        return (documents, readTime)
    }

    func query(
        _ query: DocumentModel.Query, transaction: TransactionID? = nil
    ) async throws(DocumentError) -> (documents: [DocumentModel.Document], readTime: Timestamp) {
        let response = try await send(.query(query, ReadConsistency(transaction: transaction)))
        guard case .results(let documents, let readTime) = response else {
            throw .unexpected(response, to: "query")
        }
        return (documents, readTime)
    }

    func nearest(
        _ search: VectorSearch, of query: DocumentModel.Query, transaction: TransactionID? = nil
    ) async throws(DocumentError) -> [DocumentModel.Document] {
        let response = try await send(.nearest(search, of: query, ReadConsistency(transaction: transaction)))
        guard case .results(let documents, _) = response else { throw .unexpected(response, to: "findNearest") }
        return documents
    }

    func aggregate(
        _ query: DocumentModel.Query, _ fields: [DocumentModel.AggregateField], transaction: TransactionID? = nil
    ) async throws(DocumentError) -> [Value] {
        let response = try await send(.aggregate(query, fields, ReadConsistency(transaction: transaction)))
        guard case .aggregated(let values, _) = response, values.count == fields.count else {
            throw .unexpected(response, to: "aggregate")
        }
        return values
    }

    func explain(
        _ query: DocumentModel.Query, _ fields: [DocumentModel.AggregateField], analyze: Bool
    ) async throws(DocumentError) -> (
        explanation: QueryExplanation, results: [DocumentModel.Document], values: [Value]
    ) {
        let response = try await send(.explain(query, fields, analyze: analyze, .strong))
        guard case .explained(let explanation, let results, let values, _) = response,
            !analyze || values.count == fields.count
        else { throw .unexpected(response, to: "explain") }
        return (explanation, results, values)
    }

    func partition(_ query: DocumentModel.Query, points: Int) async throws(DocumentError) -> [DocumentPath] {
        let response = try await send(.partition(query, points: points, .strong))
        guard case .partitioned(let paths, _) = response else { throw .unexpected(response, to: "partition") }
        return paths
    }

    func collectionIDs(below parent: DocumentPath?) async throws(DocumentError) -> [String] {
        let response = try await send(.collections(below: parent))
        guard case .collections(let ids) = response else { throw .unexpected(response, to: "listCollections") }
        return ids
    }

    func list(_ page: DocumentListing) async throws(DocumentError) -> ListingAnswer {
        let response = try await send(.list(page))
        guard case .listed(let ids, let next) = response else { throw .unexpected(response, to: "listDocuments") }
        return ListingAnswer(ids: ids, next: next)
    }

    func descendants(_ page: Descendants) async throws(DocumentError) -> [DocumentPath] {
        let response = try await send(.descendants(page))
        guard case .descendants(let paths) = response else { throw .unexpected(response, to: "recursiveDelete") }
        return paths
    }

    func batchWrite(_ writes: [Write]) async throws(DocumentError) -> [Result<WriteResult, DocumentError>] {
        let response = try await send(.batchWrite(writes))
        guard case .written(let results) = response, results.count == writes.count else {
            throw .unexpected(response, to: "batchWrite")
        }
        return results
    }

    func commit(_ writes: [Write], effects: [Effect] = []) async throws(DocumentError) -> CommitResult {
        let response = try await send(.commit(writes, transaction: nil, completing: nil, effects: effects))
        guard case .committed(let result) = response, result.writeResults.count == writes.count else {
            throw .unexpected(response, to: "commit")
        }
        return result
    }
}

extension DocumentError {
    /// The error for a response that doesn't match the request, which is a bug in the store or the link.
    static func unexpected(_ response: DocumentResponse, to operation: String) -> DocumentError {
        if case .failed(let error) = response { return error }
        let found =
            switch response {
            case .documents(let documents, _): "\(documents.count) documents"
            case .results: "query results"
            case .aggregated: "aggregated values"
            case .explained: "an explanation"
            case .partitioned: "a partition"
            case .collections(let ids): "\(ids.count) collections"
            case .listed(let ids, _): "\(ids.count) ids"
            case .descendants(let paths): "\(paths.count) paths"
            case .written(let results): "the results of \(results.count) writes"
            case .began: "a begun transaction"
            case .committed(let result): "a commit of \(result.writeResults.count) writes"
            case .rolledBack: "a rollback"
            case .claimed: "a claim"
            case .settled: "a settlement"
            case .completed: "an earlier invocation's response"
            case .keyReused: "the refusal of a key"
            case .users: "an answer about users"
            case .usersRefused(let message): "the refusal \(message)"
            case .database: "an answer of the Realtime Database"
            case .failed: "a failure"
            }
        return DocumentError(.internal, "the store responded to \(operation) with \(found)")
    }
}
