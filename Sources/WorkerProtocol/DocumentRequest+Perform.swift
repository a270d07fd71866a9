package import DocumentModel
import UserModel

extension DocumentRequest {
    /// Performs the request as the typed operation that it stands for.
    ///
    /// - Parameter completion: called once, on any thread, with the response for the link.
    package func perform(
        on backends: FunctionBackends, in context: OperationContext,
        completion: @escaping @Sendable (DocumentResponse) -> Void
    ) {
        let documents = backends.documents
        switch self {
        case .get(let paths, let consistency):
            documents.get(paths, consistency, in: context) {
                completion(DocumentResponse($0) { .documents($0.documents, readTime: $0.readTime) })
            }
        case .query(let query, let consistency):
            documents.query(query, consistency, in: context) {
                completion(DocumentResponse($0) { .results($0.documents, readTime: $0.readTime) })
            }
        case .nearest(let search, let query, let consistency):
            documents.nearest(search, of: query, consistency, in: context) {
                completion(DocumentResponse($0) { .results($0.documents, readTime: $0.readTime) })
            }
        case .aggregate(let query, let fields, let consistency):
            documents.aggregate(query, fields, consistency, in: context) {
                completion(DocumentResponse($0) { .aggregated($0.values, readTime: $0.readTime) })
            }
        case .explain(let query, let fields, let analyze, let consistency):
            documents.explain(query, fields, analyze: analyze, consistency, in: context) {
                completion(
                    DocumentResponse($0) {
                        .explained($0.explanation, results: $0.documents, values: $0.values, readTime: $0.readTime)
                    })
            }
        case .partition(let query, let points, let consistency):
            documents.partition(query, points: points, consistency, in: context) {
                completion(DocumentResponse($0) { .partitioned($0.points, readTime: $0.readTime) })
            }
        case .collections(let parent):
            documents.collectionIDs(below: parent, in: context) {
                completion(DocumentResponse($0) { .collections($0) })
            }
        case .list(let page):
            documents.list(page, in: context) {
                completion(DocumentResponse($0) { .listed($0.ids, next: $0.next) })
            }
        case .descendants(let page):
            documents.descendants(page, in: context) { completion(DocumentResponse($0) { .descendants($0) }) }
        case .begin(let mode):
            documents.begin(mode, in: context) { completion(DocumentResponse($0) { DocumentResponse($0) }) }
        case .beginReading(let read):
            documents.begin(.readWrite(retrying: nil), in: context) { begun in
                guard case .success(.began(let id, _)) = begun else {
                    return completion(DocumentResponse(begun) { DocumentResponse($0) })
                }
                documents.perform(read, in: id, context) { result in
                    // What was refused is read again in the transaction, whose name the worker knows then.
                    completion(.began(id, prefetched: (try? result.get()) ?? []))
                }
            }
        case .commit(let writes, let transaction, let answer, let effects):
            documents.commit(writes, transaction: transaction, completing: answer, effects: effects, in: context) {
                completion(DocumentResponse($0) { DocumentResponse($0) })
            }
        case .users(let request):
            backends.users.perform(request, in: context) { completion(DocumentResponse($0) { .users($0) }) }
        case .database(let request):
            backends.databases.perform(request, in: context) { completion(DocumentResponse($0) { .database($0) }) }
        case .commitAll(let changes, let writes, let transaction, let answer, let effects):
            backends.transactions.commit(
                changes, with: writes, transaction: transaction, completing: answer, effects: effects, in: context
            ) { completion(DocumentResponse($0) { DocumentResponse($0) }) }
        case .batchWrite(let writes):
            documents.batchWrite(writes, in: context) { completion(DocumentResponse($0) { .written($0) }) }
        case .claim(_, .transactional): completion(.settled)
        case .claim(_, let mode):
            documents.claim(isRepeatable: mode == .repeatable, in: context) {
                completion(
                    DocumentResponse($0) {
                        switch $0 {
                        case .claimed: .claimed
                        case .completed(let answer): .completed(answer)
                        case .keyReused: .keyReused
                        }
                    })
            }
        case .settle(let answer):
            documents.settle(answer, in: context) { completion(DocumentResponse($0) { .settled }) }
        case .rollback(let transaction):
            documents.rollback(transaction, in: context) {
                completion(
                    DocumentResponse($0) {
                        switch $0 {
                        case .rolledBack: .rolledBack
                        case .completed(let answer): .completed(answer)
                        }
                    })
            }
        }
    }

    /// Performs the request as the typed operation that it stands for.
    package func perform(
        on backends: FunctionBackends,
        in context: OperationContext = OperationContext()
    ) async -> DocumentResponse {
        await withCheckedContinuation { continuation in
            perform(on: backends, in: context) { continuation.resume(returning: $0) }
        }
    }
}

extension DocumentRequest {
    /// The idempotency key that the request is performed under.
    ///
    /// - Parameters:
    ///   - key: The call's; empty until a claim names it.
    ///   - isTransactional: Whether the transactions of the call's function are its work as a whole.
    package func completionKey(_ key: inout CompletionKey?, isTransactional: Bool) -> CompletionKey? {
        switch self {
        case .claim(let name, _): key?.key = name
        case .settle: break
        default: if !isTransactional || key?.key.isEmpty ?? true { return nil }
        }
        return key
    }
}

extension DocumentBackend {
    /// Reads in a transaction that has just begun.
    fileprivate func perform(
        _ read: FirstRead, in transaction: TransactionID, _ context: OperationContext,
        completion: @escaping @Sendable (Result<[TransactionRead], DocumentError>) -> Void
    ) {
        switch read {
        case .documents(let paths):
            get(paths, .transaction(transaction), in: context) { result in
                completion(result.map { zip(paths, $0.documents).map { .document($0, $1) } })
            }
        case .query(let query):
            self.query(query, .transaction(transaction), in: context) { result in
                completion(result.map { [.query(query, $0.documents)] })
            }
        }
    }
}

extension DocumentResponse {
    fileprivate init<Answer>(_ result: Result<Answer, DocumentError>, _ response: (Answer) -> DocumentResponse) {
        switch result {
        case .success(let answer): self = response(answer)
        case .failure(let error): self = .failed(error)
        }
    }

    fileprivate init<Answer>(_ result: Result<Answer, UserFailure>, _ response: (Answer) -> DocumentResponse) {
        switch result {
        case .success(let answer): self = response(answer)
        case .failure(.refused(let message)): self = .usersRefused(message)
        case .failure(.failed(let error)): self = .failed(error)
        }
    }

    fileprivate init(_ answer: CommitAnswer) {
        switch answer {
        case .committed(let result): self = .committed(result)
        case .completed(let answer): self = .completed(answer)
        case .keyReused: self = .keyReused
        }
    }

    fileprivate init(_ answer: BeginAnswer) {
        switch answer {
        case .began(let id, let prefetched): self = .began(id, prefetched: prefetched)
        case .completed(let answer): self = .completed(answer)
        case .keyReused: self = .keyReused
        }
    }
}
