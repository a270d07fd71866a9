import CommitPipeline
import DocumentModel

/// An operation with its caller's context and completion.
struct StoreOperation: Sendable {
    var request: DocumentRequest
    var context: OperationContext
    var completion: @Sendable (DocumentResponse) -> Void
}

/// An operation that a reader answers from a snapshot.
struct OperationRead: SnapshotJob {
    let store: DocumentStore
    let operation: StoreOperation

    func run(on snapshot: Snapshot) {
        do {
            let view = try store.parts.view(of: snapshot)
            guard let response = try store.read(operation, view, version: snapshot.version) else {
                // The snapshot doesn't hold the state yet, so the writer does the read.
                let job = OperationJob(store: store, operation: operation)
                if !store.pipeline.submit(job) { fail(CommitPipeline.shutDown) }
                return
            }
            operation.completion(response)
        } catch {
            fail(DocumentError(from: error))
        }
    }

    func fail(_ error: DocumentError) { operation.completion(.failed(error)) }
}

/// Another request that is answered from a snapshot.
struct ViewRead: SnapshotJob {
    let parts: DocumentParts
    let body: @Sendable (Result<(view: DocumentView, version: Int64), DocumentError>) -> Void

    func run(on snapshot: Snapshot) {
        body(Result { (try parts.view(of: snapshot), snapshot.version) }.mapError(DocumentError.init(from:)))
    }

    func fail(_ error: DocumentError) { body(.failure(error)) }
}

/// An operation for the writer.
struct OperationJob: CommitJob {
    let store: DocumentStore
    let operation: StoreOperation

    func run(in batch: CommitBatch) throws {
        let writer = store.writer
        switch operation.request {
        // Once a state at that time has been read, no commit may happen at or before it.
        case .get(_, .at(let time)), .query(_, .at(let time)), .aggregate(_, _, .at(let time)),
            .explain(_, _, _, .at(let time)), .partition(_, _, .at(let time)), .begin(.readOnly(let time?)):
            batch.versions.claim(time.microseconds)
            readOnceDurable(batch)
        // The operation's transaction has seen the open batch.
        case .get, .query, .aggregate, .explain, .partition: readOnceDurable(batch)
        case .batchWrite(let writes): try writer.write(writes, operation, in: batch)
        case .begin: writer.turns.begin(operation, in: batch)
        case .rollback(let id): try writer.rollBack(id, operation, in: batch)
        case .commit(let writes, let transaction, let answer, let effects):
            try writer.commit(writes, transaction, answer, effects, operation, in: batch)
        }
    }

    func fail(_ error: DocumentError) { operation.completion(.failed(error)) }

    private func readOnceDurable(_ batch: CommitBatch) {
        batch.whenDurable { error in
            if let error { return fail(error) }
            let job = OperationRead(store: store, operation: operation)
            if !store.pipeline.read(job) { fail(CommitPipeline.shutDown) }
        }
    }
}

extension StoreOperation {
    /// Answers once the batch is durable, because the response depends on the batch's content.
    func answer(_ response: DocumentResponse, with batch: CommitBatch) {
        batch.whenDurable { completion($0.map { .failed($0) } ?? response) }
    }
}

extension KeptAnswer {
    var response: DocumentResponse {
        switch self {
        case .answer(let answer): .completed(answer)
        case .otherData: .keyReused
        }
    }
}
