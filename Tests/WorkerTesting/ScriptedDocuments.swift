package import DocumentModel
import Synchronization
package import WorkerProtocol

/// Documents that answer when the test says so.
package final class ScriptedDocuments: DocumentBackend {
    package struct Operation: Sendable {
        package let request: DocumentRequest
        package let context: OperationContext
        /// Answers as the link carries it; a response to another request fails the operation.
        package let answer: @Sendable (DocumentResponse) -> Void
    }

    private struct State {
        var waiting: [Operation] = []
        var released: [UInt64] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// The operation that came first of those that the test hasn't taken.
    package func next() -> Operation? { state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() } }

    /// The invocations whose transactions were released, in order.
    package var released: [UInt64] { state.withLock { $0.released } }

    package func release(owner: UInt64) { state.withLock { $0.released.append(owner) } }

    private func wait<Answer>(
        for request: DocumentRequest, _ context: OperationContext, _ completion: @escaping Completion<Answer>,
        _ answer: @escaping @Sendable (DocumentResponse) -> Answer?
    ) {
        let operation = Operation(request: request, context: context) { response in
            if case .failed(let error) = response { return completion(.failure(error)) }
            if let answer = answer(response) { return completion(.success(answer)) }
            completion(.failure(DocumentError(.internal, "\(response) doesn't answer \(request)")))
        }
        state.withLock { $0.waiting.append(operation) }
    }

    // MARK: Operations

    package func get(
        _ paths: [DocumentPath], _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<DocumentsAnswer>
    ) {
        wait(for: .get(paths, consistency), context, completion) {
            guard case .documents(let documents, let time) = $0 else { return nil }
            return DocumentsAnswer(documents: documents, readTime: time)
        }
    }

    package func query(
        _ query: Query, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<QueryAnswer>
    ) {
        wait(for: .query(query, consistency), context, completion) {
            guard case .results(let documents, let time) = $0 else { return nil }
            return QueryAnswer(documents: documents, readTime: time)
        }
    }

    package func nearest(
        _ search: VectorSearch, of query: Query, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<QueryAnswer>
    ) {
        wait(for: .nearest(search, of: query, consistency), context, completion) {
            guard case .results(let documents, let time) = $0 else { return nil }
            return QueryAnswer(documents: documents, readTime: time)
        }
    }

    package func aggregate(
        _ query: Query, _ fields: [AggregateField], _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<AggregateAnswer>
    ) {
        wait(for: .aggregate(query, fields, consistency), context, completion) {
            guard case .aggregated(let values, let time) = $0 else { return nil }
            return AggregateAnswer(values: values, readTime: time)
        }
    }

    package func explain(
        _ query: Query, _ fields: [AggregateField], analyze: Bool, _ consistency: ReadConsistency,
        in context: OperationContext, completion: @escaping Completion<ExplainAnswer>
    ) {
        wait(for: .explain(query, fields, analyze: analyze, consistency), context, completion) {
            guard case .explained(let explanation, let documents, let values, let time) = $0 else { return nil }
            return ExplainAnswer(explanation: explanation, documents: documents, values: values, readTime: time)
        }
    }

    package func partition(
        _ query: Query, points: Int, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<PartitionAnswer>
    ) {
        wait(for: .partition(query, points: points, consistency), context, completion) {
            guard case .partitioned(let points, let time) = $0 else { return nil }
            return PartitionAnswer(points: points, readTime: time)
        }
    }

    package func collectionIDs(
        below parent: DocumentPath?, in context: OperationContext, completion: @escaping Completion<[String]>
    ) {
        wait(for: .collections(below: parent), context, completion) {
            guard case .collections(let ids) = $0 else { return nil }
            return ids
        }
    }

    package func list(
        _ page: DocumentListing, in context: OperationContext, completion: @escaping Completion<ListingAnswer>
    ) {
        wait(for: .list(page), context, completion) {
            guard case .listed(let ids, let next) = $0 else { return nil }
            return ListingAnswer(ids: ids, next: next)
        }
    }

    package func descendants(
        _ page: Descendants, in context: OperationContext, completion: @escaping Completion<[DocumentPath]>
    ) {
        wait(for: .descendants(page), context, completion) {
            guard case .descendants(let paths) = $0 else { return nil }
            return paths
        }
    }

    package func begin(
        _ mode: TransactionMode, in context: OperationContext, completion: @escaping Completion<BeginAnswer>
    ) {
        wait(for: .begin(mode), context, completion) {
            switch $0 {
            case .began(let id, let prefetched): .began(id, prefetched: prefetched)
            case .completed(let answer): .completed(answer)
            case .keyReused: .keyReused
            default: nil
            }
        }
    }

    package func commit(
        _ writes: [Write], transaction: TransactionID?, completing: [UInt8]?, effects: [Effect],
        in context: OperationContext, completion: @escaping Completion<CommitAnswer>
    ) {
        wait(
            for: .commit(writes, transaction: transaction, completing: completing, effects: effects), context,
            completion
        ) {
            switch $0 {
            case .committed(let result): .committed(result)
            case .completed(let answer): .completed(answer)
            case .keyReused: .keyReused
            default: nil
            }
        }
    }

    package func claim(
        isRepeatable: Bool, in context: OperationContext, completion: @escaping Completion<ClaimAnswer>
    ) {
        let key = context.completion?.key ?? ""
        wait(for: .claim(key: key, isRepeatable ? .repeatable : .once), context, completion) {
            switch $0 {
            case .claimed: .claimed
            case .completed(let answer): .completed(answer)
            case .keyReused: .keyReused
            default: nil
            }
        }
    }

    package func settle(_ answer: [UInt8]?, in context: OperationContext, completion: @escaping Completion<Void>) {
        wait(for: .settle(answer), context, completion) { if case .settled = $0 { () } else { nil } }
    }

    package func batchWrite(
        _ writes: [Write], in context: OperationContext,
        completion: @escaping Completion<[Result<WriteResult, DocumentError>]>
    ) {
        wait(for: .batchWrite(writes), context, completion) {
            guard case .written(let results) = $0 else { return nil }
            return results
        }
    }

    package func rollback(
        _ transaction: TransactionID, in context: OperationContext, completion: @escaping Completion<RollbackAnswer>
    ) {
        wait(for: .rollback(transaction), context, completion) {
            switch $0 {
            case .rolledBack: .rolledBack
            case .completed(let answer): .completed(answer)
            default: nil
            }
        }
    }
}
