package import DocumentModel
import StorageEngine

/// Work that isn't a transaction is recorded before it begins and when it has ended.
extension CommitPipeline: CompletionKeeper {
    package func begin(
        _ key: CompletionKey, isRepeatable: Bool, in context: OperationContext,
        completion: @escaping @Sendable (Result<ClaimAnswer, DocumentError>) -> Void
    ) {
        accept(BeginWork(key: key, isRepeatable: isRepeatable, context: context, completion: completion))
    }

    package func end(
        _ key: CompletionKey, _ answer: [UInt8]?, in context: OperationContext,
        completion: @escaping @Sendable (Result<Void, DocumentError>) -> Void
    ) {
        accept(EndWork(key: key, answer: answer, completion: completion))
    }

    private func accept(_ job: some CommitJob) {
        if !submit(job, limit: configuration.maxWaiting) { job.fail(Self.shutDown) }
    }
}

private struct BeginWork: CommitJob {
    let key: CompletionKey
    let isRepeatable: Bool
    let context: OperationContext
    let completion: @Sendable (Result<ClaimAnswer, DocumentError>) -> Void

    func run(in batch: CommitBatch) throws {
        let answer: ClaimAnswer
        do {
            answer = try earlier(in: batch)
        } catch let error as StorageError where !error.isOfRows {
            throw error
        } catch {
            return fail(DocumentError(from: error))
        }
        if answer == .claimed {
            try CompletionRecord.store(nil, for: key, in: batch.writer, at: batch.now())
            batch.add(bytes: key.scope.utf8.count + key.key.utf8.count + 128)
        }
        batch.whenDurable { [completion] in completion($0.map { .failure($0) } ?? .success(answer)) }
    }

    private func earlier(in batch: CommitBatch) throws -> ClaimAnswer {
        guard let record = try CompletionRecord.find(key, in: batch.storage, at: batch.now()) else { return .claimed }
        guard record.fingerprint == key.fingerprint else { return .keyReused }
        if let answer = record.answer {
            try context.answer?.take(answer.count)
            return .completed(answer)
        }
        guard isRepeatable else { throw DocumentError.outcomeUnknown }
        return .claimed
    }

    func fail(_ error: DocumentError) { completion(.failure(error)) }
}

private struct EndWork: CommitJob {
    let key: CompletionKey
    let answer: [UInt8]?
    let completion: @Sendable (Result<Void, DocumentError>) -> Void

    func run(in batch: CommitBatch) throws {
        do {
            _ = try CompletionRecord.find(key, in: batch.storage, at: batch.now())
        } catch let error as StorageError where !error.isOfRows {
            throw error
        } catch {
            // The row that is there can't be read. Nothing was written, so the batch goes on.
            return fail(DocumentError(from: error))
        }
        if let answer {
            try CompletionRecord.store(answer, for: key, in: batch.writer, at: batch.now())
            batch.add(bytes: answer.count + 128)
        } else {
            try CompletionRecord.remove(key, from: batch.writer)
        }
        batch.whenDurable { [completion] in completion($0.map { .failure($0) } ?? .success(())) }
    }

    func fail(_ error: DocumentError) { completion(.failure(error)) }
}
