/// A backend that does its operations in one place, from a request to its response.
package protocol DocumentRequestBackend: DocumentBackend {
    func perform(
        _ request: DocumentRequest, in context: OperationContext,
        completion: @escaping @Sendable (DocumentResponse) -> Void)
}

extension DocumentRequestBackend {
    package func get(
        _ paths: [DocumentPath], _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<DocumentsAnswer>
    ) {
        perform(.get(paths, consistency), in: context) { response in
            guard case .documents(let documents, let time) = response else { return completion(response.refusal()) }
            completion(.success(DocumentsAnswer(documents: documents, readTime: time)))
        }
    }

    package func query(
        _ query: Query, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<QueryAnswer>
    ) {
        perform(.query(query, consistency), in: context) { response in
            guard case .results(let documents, let time) = response else { return completion(response.refusal()) }
            completion(.success(QueryAnswer(documents: documents, readTime: time)))
        }
    }

    package func aggregate(
        _ query: Query, _ fields: [AggregateField], _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<AggregateAnswer>
    ) {
        perform(.aggregate(query, fields, consistency), in: context) { response in
            guard case .aggregated(let values, let time) = response else { return completion(response.refusal()) }
            completion(.success(AggregateAnswer(values: values, readTime: time)))
        }
    }

    package func explain(
        _ query: Query, _ fields: [AggregateField], analyze: Bool, _ consistency: ReadConsistency,
        in context: OperationContext, completion: @escaping Completion<ExplainAnswer>
    ) {
        perform(.explain(query, fields, analyze: analyze, consistency), in: context) { response in
            guard case .explained(let explanation, let documents, let values, let time) = response else {
                return completion(response.refusal())
            }
            completion(
                .success(
                    ExplainAnswer(explanation: explanation, documents: documents, values: values, readTime: time)))
        }
    }

    package func partition(
        _ query: Query, points: Int, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<PartitionAnswer>
    ) {
        perform(.partition(query, points: points, consistency), in: context) { response in
            guard case .partitioned(let points, let time) = response else { return completion(response.refusal()) }
            completion(.success(PartitionAnswer(points: points, readTime: time)))
        }
    }

    package func begin(
        _ mode: TransactionMode, in context: OperationContext, completion: @escaping Completion<BeginAnswer>
    ) {
        perform(.begin(mode), in: context) { response in
            switch response {
            case .began(let id, let prefetched): completion(.success(.began(id, prefetched: prefetched)))
            case .completed(let answer): completion(.success(.completed(answer)))
            case .keyReused: completion(.success(.keyReused))
            default: completion(response.refusal())
            }
        }
    }

    package func commit(
        _ writes: [Write], transaction: TransactionID?, completing: [UInt8]?, effects: [Effect],
        in context: OperationContext, completion: @escaping Completion<CommitAnswer>
    ) {
        perform(
            .commit(writes, transaction: transaction, completing: completing, effects: effects), in: context
        ) { response in
            switch response {
            case .committed(let result): completion(.success(.committed(result)))
            case .completed(let answer): completion(.success(.completed(answer)))
            case .keyReused: completion(.success(.keyReused))
            default: completion(response.refusal())
            }
        }
    }

    package func batchWrite(
        _ writes: [Write], in context: OperationContext,
        completion: @escaping Completion<[Result<WriteResult, DocumentError>]>
    ) {
        perform(.batchWrite(writes), in: context) { response in
            guard case .written(let results) = response else { return completion(response.refusal()) }
            completion(.success(results))
        }
    }

    package func rollback(
        _ transaction: TransactionID, in context: OperationContext, completion: @escaping Completion<RollbackAnswer>
    ) {
        perform(.rollback(transaction), in: context) { response in
            switch response {
            case .rolledBack: completion(.success(.rolledBack))
            case .completed(let answer): completion(.success(.completed(answer)))
            default: completion(response.refusal())
            }
        }
    }
}

extension DocumentResponse {
    /// The error that the response holds; a response to another request is our own mistake.
    fileprivate func refusal<Answer>() -> Result<Answer, DocumentError> {
        switch self {
        case .failed(let error): .failure(error)
        case .keyReused: .failure(.keyReused)
        default: .failure(DocumentError(.internal, "the documents gave another kind of answer"))
        }
    }
}
