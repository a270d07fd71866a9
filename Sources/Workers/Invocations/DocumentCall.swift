import DocumentModel

/// One document operation of a handler, as the link carries it: from its request to its response.
enum DocumentCall {
    /// Does what a request asks for.
    ///
    /// - Parameter completion: called once, on any thread, with the response and what follows from it for the invocation.
    static func perform(
        _ request: DocumentRequest, on documents: any DocumentBackend, in context: OperationContext,
        completion: @escaping @Sendable (DocumentResponse, DocumentWork.Result) -> Void
    ) {
        switch request {
        case .get(let paths, let consistency):
            documents.get(paths, consistency, in: context) {
                respond($0, completion) { .documents($0.documents, readTime: $0.readTime) }
            }
        case .query(let query, let consistency):
            documents.query(query, consistency, in: context) {
                respond($0, completion) { .results($0.documents, readTime: $0.readTime) }
            }
        case .aggregate(let query, let fields, let consistency):
            documents.aggregate(query, fields, consistency, in: context) {
                respond($0, completion) { .aggregated($0.values, readTime: $0.readTime) }
            }
        case .explain(let query, let fields, let analyze, let consistency):
            documents.explain(query, fields, analyze: analyze, consistency, in: context) {
                respond($0, completion) {
                    .explained($0.explanation, results: $0.documents, values: $0.values, readTime: $0.readTime)
                }
            }
        case .partition(let query, let points, let consistency):
            documents.partition(query, points: points, consistency, in: context) {
                respond($0, completion) { .partitioned($0.points, readTime: $0.readTime) }
            }
        case .batchWrite(let writes):
            documents.batchWrite(writes, in: context) { respond($0, completion) { .written($0) } }
        case .begin(let mode):
            documents.begin(mode, in: context) {
                completion(DocumentResponse($0), DocumentWork.Result($0))
            }
        case .commit(let writes, let transaction, let answer, let effects):
            documents.commit(
                writes, transaction: transaction, completing: answer, effects: effects, in: context
            ) {
                completion(
                    DocumentResponse($0),
                    DocumentWork.Result($0, inTransaction: transaction != nil, isCompleting: answer != nil))
            }
        case .rollback(let transaction):
            documents.rollback(transaction, in: context) {
                completion(DocumentResponse($0), DocumentWork.Result($0))
            }
        }
    }

    private static func respond<Answer>(
        _ result: Result<Answer, DocumentError>, _ completion: (DocumentResponse, DocumentWork.Result) -> Void,
        _ response: (Answer) -> DocumentResponse
    ) {
        switch result {
        case .success(let answer): completion(response(answer), DocumentWork.Result())
        case .failure(let error): completion(.failed(error), DocumentWork.Result())
        }
    }
}

extension DocumentResponse {
    fileprivate init(_ result: Result<BeginAnswer, DocumentError>) {
        switch result {
        case .success(.began(let id, let prefetched)): self = .began(id, prefetched: prefetched)
        case .success(.completed(let answer)): self = .completed(answer)
        case .success(.keyReused): self = .keyReused
        case .failure(let error): self = .failed(error)
        }
    }

    fileprivate init(_ result: Result<CommitAnswer, DocumentError>) {
        switch result {
        case .success(.committed(let result)): self = .committed(result)
        case .success(.completed(let answer)): self = .completed(answer)
        case .success(.keyReused): self = .keyReused
        case .failure(let error): self = .failed(error)
        }
    }

    fileprivate init(_ result: Result<RollbackAnswer, DocumentError>) {
        switch result {
        case .success(.rolledBack): self = .rolledBack
        case .success(.completed(let answer)): self = .completed(answer)
        case .failure(let error): self = .failed(error)
        }
    }
}
