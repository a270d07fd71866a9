package import CommitPipeline
package import DocumentModel
import Synchronization

/// The writes, which the writer does, and transactions.
extension DocumentStore {
    /// Begins a transaction. On the caller's thread if it waits for no turn and reads nothing: it only touches memory
    /// then, so no thread is woken.
    package func begin(
        _ mode: TransactionMode, in context: OperationContext, completion: @escaping Completion<BeginAnswer>
    ) {
        if case .readWrite(let retried?) = mode {
            return submit(RetryBegin(store: self, retried: retried, context: context, completion: completion))
        }
        guard mode.readTime == nil, context.completion == nil else {
            return submit(BeginRead(store: self, mode: mode, context: context, completion: completion))
        }
        do throws(DocumentError) {
            completion(.success(try beginNow(mode, in: context)))
        } catch {
            completion(.failure(error))
        }
    }

    /// - Parameter past: the version of the state that the transaction sees; nil for that of its first read.
    func beginNow(
        _ mode: TransactionMode, seeing past: Int64? = nil, in context: OperationContext
    ) throws(DocumentError) -> BeginAnswer {
        let time = elapsed()
        let id = try parts.transactions.withLock { table throws(DocumentError) in
            try table.begin(isReadOnly: mode.isReadOnly, seeing: past, context: context, at: time)
        }
        return .began(id, prefetched: [])
    }

    package func commit(
        _ writes: [Write], transaction: TransactionID?, completing: [UInt8]?, effects: [Effect],
        in context: OperationContext, completion: @escaping Completion<CommitAnswer>
    ) {
        let commit = WriteCommit(
            store: self, writes: writes, transaction: transaction, completing: completing, effects: effects,
            context: context, completion: completion)
        if context.policy == nil { submit(commit) } else { decide(commit) }
    }

    /// Commits a transaction of an admin together with parts of other kinds of data: all of it or nothing.
    ///
    /// - Parameter others: makes these parts, on the writer's thread.
    package func commit(
        _ writes: [Write], transaction: TransactionID, completing: [UInt8]?, effects: [Effect],
        beside others: @escaping @Sendable () -> [any CommitPart], in context: OperationContext,
        completion: @escaping Completion<CommitAnswer>
    ) {
        guard context.policy == nil else {
            return completion(
                .failure(DocumentError(.permissionDenied, "only admins commit documents together with other data")))
        }
        submit(
            WriteCommit(
                store: self, writes: writes, transaction: transaction, completing: completing, effects: effects,
                context: context, others: others, completion: completion))
    }

    /// Decides on a client's commit, and then commits.
    func decide(_ commit: WriteCommit) {
        submit(
            ClientCommitCheck(commit) { [self] checked in
                var commit = commit
                commit.decisions += 1
                switch checked {
                case .success(.decided(let decision)):
                    commit.decision = decision
                    submit(commit)
                case .success(.refused(let error)):
                    // As where the writer refuses it.
                    if let transaction = commit.transaction {
                        parts.transactions.withLock { $0.drop(transaction, owner: commit.context.owner) }
                    }
                    commit.completion(.failure(error))
                case .failure(let error): commit.completion(.failure(error))
                }
            })
    }

    package func batchWrite(
        _ writes: [Write], in context: OperationContext,
        completion: @escaping Completion<[Result<WriteResult, DocumentError>]>
    ) {
        let batch = BatchWrite(store: self, writes: writes, context: context, completion: completion)
        if context.policy == nil { submit(batch) } else { decide(batch) }
    }

    /// Decides on a client's batch of independent writes, and then commits those that may be.
    func decide(_ batch: BatchWrite) {
        submit(
            ClientBatchCheck(store: self, writes: batch.writes, context: batch.context) { [self] checked in
                var batch = batch
                batch.attempts += 1
                do throws(DocumentError) {
                    batch.decisions = try checked.get()
                } catch {
                    return batch.completion(.failure(error))
                }
                let refusals = batch.writes.indices.compactMap { number -> DocumentError? in
                    if case .failure(let error)? = batch.decisions[number] { error } else { nil }
                }
                if refusals.count < batch.writes.count { return submit(batch) }
                batch.completion(.success(refusals.map { .failure($0) }))
            })
    }

    package func rollback(
        _ transaction: TransactionID, in context: OperationContext, completion: @escaping Completion<RollbackAnswer>
    ) {
        submit(Rollback(store: self, transaction: transaction, context: context, completion: completion))
    }

    /// Rolls back all transactions of an owner and ends its listeners, because its client is gone.
    package func release(owner: UInt64) {
        listeners.release(owner: owner)
        releaseClaims(of: owner)
        let ended = parts.transactions.withLock { $0.release(owner: owner) }
        // After the shutdown there are no turns any more.
        _ = pipeline.submit(ReleaseJob(owner: owner, ended: ended, writer: writer))
    }

    private func submit(_ job: some CommitJob) {
        if !pipeline.submit(job, limit: pipeline.configuration.maxWaiting) { job.fail(Self.notTaken) }
    }
}

extension TransactionMode {
    /// The time in the past that the transaction sees.
    var readTime: Timestamp? { if case .readOnly(let time) = self { time } else { nil } }

    fileprivate var isReadOnly: Bool { if case .readOnly = self { true } else { false } }
}
