import StorageEngine
import DocumentModel
import Synchronization

extension StoreWriter {
    /// Validates and applies one commit of the open batch.
    ///
    /// - Returns: the answer, for when the batch is durable. A refused commit leaves no trace in the batch.
    /// - Throws: where storing failed half-way, and the batch must not be kept.
    func commit(
        _ writes: [Write], _ id: TransactionID?, completing answer: [UInt8]?, _ effects: [Effect],
        _ context: OperationContext, _ storage: any StorageWriter
    ) throws -> DocumentResponse {
        var transaction: OpenTransaction?
        do {
            if let id {
                let time = store.elapsed()
                transaction = try store.transactions.withLock { table throws(DocumentError) in
                    try table.end(id, owner: context.owner, at: time)
                }
            }
            let now = store.now()
            let key = context.completion ?? transaction?.completion
            if let key, answer != nil, let earlier = try CompletionRecord.response(to: key, in: storage, at: now) {
                finish(transaction)
                return earlier
            }
            let delivery = try delivery(of: context, completing: answer != nil, storage)
            if transaction?.isReadOnly ?? false, !(writes.isEmpty && effects.isEmpty) {
                throw DocumentError.invalidArgument("a read-only transaction can't write")
            }
            // What only reads has seen one state, and needs no more than that.
            if let transaction, !(writes.isEmpty && effects.isEmpty),
                let conflict = store.transactions.withLock({ $0.conflict(of: transaction) })
            {
                throw conflict
            }
            let version = max(now.microseconds, lastVersion + 1)
            let documents = StoredDocuments(storage, maxBytes: store.configuration.maxCommitReadBytes)
            let computation = try WriteComputation(
                writes, at: Timestamp(microseconds: version), policy: context.policy, catalog: indexes.catalog,
                read: documents.document)
            if let transaction, turns.blocks(computation.changes, of: transaction) {
                throw DocumentError(
                    .aborted, "another transaction has its turn on the same documents; try the transaction again")
            }
            try check(effects, context, at: now, storage)
            let completion = key.flatMap { key in answer.map { (key, $0) } }
            let response = try apply(computation, documents, version, completion, now, storage) {
                try putEvents(
                    of: computation.changes, effects, completing: delivery, version, context, now, storage)
            }
            finish(transaction)
            return response
        } catch let failure as BatchFailure {
            throw failure.underlying
        } catch let error as StorageError where error.kind != .damaged {
            // SQLite may have given up the whole batch.
            throw error
        } catch {
            let error = DocumentError(from: error)
            refuse(transaction, error)
            return .failed(error)
        }
    }

    private func apply(
        _ computation: WriteComputation, _ documents: StoredDocuments, _ version: Int64,
        _ completion: (key: CompletionKey, answer: [UInt8])?, _ now: Timestamp, _ storage: any StorageWriter,
        beside: () throws -> Void
    ) throws(BatchFailure) -> DocumentResponse {
        var applied: [RecentChanges.Entry] = []
        do {
            for change in computation.changes {
                // Encoded once, for the table and for the log.
                let (key, before) = documents.stored(change.path)
                let after = change.after.map(StoredDocument.encode)
                try storage.apply(change, key: key, stored: after, indexes.catalog)
                history.bytes += try ChangeLog.append(
                    version: version, documentKey: key, before: before, after: after, to: storage)
                applied.append(
                    RecentChanges.Entry(
                        change, version: version, storedBytes: (before?.count ?? 0) + (after?.count ?? 0)))
            }
            if let completion {
                try CompletionRecord.store(completion.answer, for: completion.key, in: storage, at: now)
            }
            try beside()
        } catch {
            throw BatchFailure(underlying: error)
        }
        // Writes that change nothing have a time of their own too.
        if !computation.results.isEmpty { settle(version) }
        if !applied.isEmpty {
            batchBytes += applied.reduce(0) { $0 + $1.bytes }
            store.transactions.withLock { $0.applied(applied) }
            batch.append(applied)
        }
        return .committed(
            CommitResult(
                commitTime: Timestamp(microseconds: appliedVersion), writeResults: computation.results))
    }

    private func finish(_ transaction: OpenTransaction?) {
        if let transaction { turns.leave(transaction.id) }
    }

    /// An aborted transaction may be tried again, and keeps the turn it had until then.
    private func refuse(_ transaction: OpenTransaction?, _ error: DocumentError) {
        guard let transaction else { return }
        guard error.code == .aborted else { return turns.leave(transaction.id) }
        let time = store.elapsed()
        store.transactions.withLock { $0.issueTicket(for: transaction, at: time) }
    }
}

/// Storing failed between a commit's first change and its last.
private struct BatchFailure: Error {
    var underlying: any Error
}

extension DocumentError {
    /// Not to be tried again: somebody else is told of the event, or nobody any more.
    static let leaseEnded = DocumentError(
        .failedPrecondition, "the event was taken back from this worker, whose time for it was over")
}
