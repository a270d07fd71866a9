import StorageEngine
import DocumentModel
import Synchronization

extension StoreWriter {
    /// Begins a transaction that tries an aborted one again. It is answered once it has its turn.
    func begin(_ operation: StoreOperation, _ storage: any StorageReader) {
        do {
            if let response = try completed(operation, storage) { return answerWhenDurable(operation, response) }
            guard case .begin(.readWrite(let retrying?)) = operation.request else {
                throw DocumentError(.internal, "a begin without an earlier transaction was asked of the writer")
            }
            let time = store.elapsed()
            // Turns hold up others, so only functions get them: a client could take one and stay silent.
            let ticket =
                operation.context.policy == nil
                ? store.transactions.withLock {
                    $0.takeTicket(retrying, owner: operation.context.owner, at: time)
                } : nil
            guard let ticket else {
                // Forgotten or never aborted: an ordinary begin.
                let id = try store.transactions.withLock { table throws(DocumentError) in
                    try table.begin(isReadOnly: false, context: operation.context, at: time)
                }
                return operation.completion(.began(id, prefetched: []))
            }
            turns.join(
                WriterTurns.Waiter(operation: operation, reads: ticket.reads), retrying: retrying)
        } catch {
            operation.completion(.failed(DocumentError(from: error)))
        }
    }

    /// Answers those whose turn has come, with what they had read as it is now.
    func startTurns(_ storage: any StorageReader) throws {
        while let (id, waiter) = turns.nextGranted() {
            do {
                try startTurn(id, waiter, storage)
            } catch {
                turns.leave(id)
                store.transactions.withLock { table in
                    _ = try? table.end(id, owner: waiter.operation.context.owner, at: store.elapsed())
                }
                waiter.operation.completion(.failed(DocumentError(from: error)))
                if let error = error as? StorageError, error.kind != .damaged { throw error }
            }
        }
    }

    private func startTurn(
        _ id: TransactionID, _ waiter: WriterTurns.Waiter, _ storage: any StorageReader
    ) throws {
        let context = waiter.operation.context
        // Whoever was ahead may have done the very same work.
        if let response = try completed(waiter.operation, storage) {
            turns.leave(id)
            return answerWhenDurable(waiter.operation, response)
        }
        let view = DocumentView(storage, indexes.catalog)
        var (prefetched, reads) = ([TransactionRead](), waiter.reads)
        do {
            prefetched = try prefetch(reads, view)
        } catch let error as DocumentError where error.code == .resourceExhausted {
            // More than one answer holds: it reads anew, one by one.
            reads = ReadSet()
        }
        let time = store.elapsed()
        try store.transactions.withLock { table throws(DocumentError) in
            _ = try table.begin(id, isReadOnly: false, context: context, at: time)
            table.prefetched(id, reads, version: appliedVersion)
        }
        turns.started(id, waiter, until: waiter.deadline ?? time + store.configuration.turnLimit)
        waiter.operation.completion(.began(id, prefetched: prefetched))
    }

    /// All that was read, as it is now. Only functions have turns, so there is no policy to ask.
    private func prefetch(_ reads: ReadSet, _ view: DocumentView) throws -> [TransactionRead] {
        var budget = ReadBudget(store.configuration.maxReadBytes)
        var prefetched: [TransactionRead] = []
        for path in reads.documents {
            prefetched.append(.document(path, try view.document(path, within: &budget)))
        }
        for (query, normalized) in reads.queries where !reads.aggregated.contains(query) {
            let documents = try normalized.run(in: view, within: budget)
            try budget.take(documents.reduce(0) { $0 + DocumentLimits.size(of: $1.fields) })
            prefetched.append(.query(query, documents))
        }
        return prefetched
    }

    private func completed(
        _ operation: StoreOperation, _ storage: any StorageReader
    ) throws -> DocumentResponse? {
        guard let key = operation.context.completion else { return nil }
        return try CompletionRecord.response(to: key, in: storage, at: store.now())
    }
}
