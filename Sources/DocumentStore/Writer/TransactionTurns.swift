import CommitPipeline
import DocumentModel
import StorageEngine
import Synchronization

/// Begins the transactions that retry aborted ones, each when its turn has come.
///
/// Used on the writer's thread.
final class TransactionTurns {
    private let parts: DocumentParts
    private var turns = WriterTurns()

    init(_ parts: DocumentParts) { self.parts = parts }

    /// Whether a transaction that got its turn in the open batch is likely to return at once.
    var expectsMoreJobs: Bool { turns.awaitsNews }

    var pause: Duration? { turns.timeout(at: parts.elapsed()) }

    func beginBatch() {
        turns.startGroup()
        turns.expire(at: parts.elapsed())
    }

    func leave(_ id: TransactionID) { turns.leave(id) }

    func release(owner: UInt64, _ ended: [TransactionID]) { turns.release(owner: owner, ended) }

    func refuseAll(_ error: DocumentError) { turns.refuseAll(error) }

    func blocks(_ changes: [DocumentChange], of transaction: OpenTransaction) -> Bool {
        turns.blocks(changes, of: transaction)
    }

    /// Begins a transaction that retries an aborted one. The caller receives the response once it has its turn.
    func begin(_ operation: StoreOperation, in batch: CommitBatch) {
        do {
            if let earlier = try answer(to: operation, batch) { return operation.answer(earlier, with: batch) }
            guard case .begin(.readWrite(let retrying?)) = operation.request else {
                throw DocumentError(.internal, "a begin without an earlier transaction was asked of the writer")
            }
            let time = parts.elapsed()
            // Turns delay others, so only functions get them: a client could take one and never continue.
            let ticket =
                operation.context.policy == nil
                ? parts.transactions.withLock {
                    $0.takeTicket(retrying, owner: operation.context.owner, at: time)
                } : nil
            guard let ticket else {
                // The ticket has expired or never existed: an ordinary begin.
                let id = try parts.transactions.withLock { table throws(DocumentError) in
                    try table.begin(isReadOnly: false, context: operation.context, at: time)
                }
                return operation.completion(.began(id, prefetched: []))
            }
            turns.join(WriterTurns.Waiter(operation: operation, reads: ticket.reads), retrying: retrying)
        } catch {
            operation.completion(.failed(DocumentError(from: error)))
        }
    }

    /// Answers the transactions whose turn has come, with the current state of what they had read.
    func startGranted(in batch: CommitBatch, _ catalog: IndexCatalog) throws {
        while let (id, waiter) = turns.nextGranted() {
            do {
                try start(id, waiter, batch, catalog)
            } catch {
                turns.leave(id)
                parts.transactions.withLock { table in
                    _ = try? table.end(id, owner: waiter.operation.context.owner, at: parts.elapsed())
                }
                waiter.operation.completion(.failed(DocumentError(from: error)))
                if let error = error as? StorageError, error.kind != .damaged { throw error }
            }
        }
    }

    private func start(
        _ id: TransactionID, _ waiter: WriterTurns.Waiter, _ batch: CommitBatch, _ catalog: IndexCatalog
    ) throws {
        let context = waiter.operation.context
        // The transaction ahead may have done the same work.
        if let earlier = try answer(to: waiter.operation, batch) {
            turns.leave(id)
            return waiter.operation.answer(earlier, with: batch)
        }
        var (prefetched, reads) = ([TransactionRead](), waiter.reads)
        do {
            prefetched = try prefetch(reads, DocumentView(batch.storage, catalog))
        } catch let error as DocumentError where error.code == .resourceExhausted {
            // The reads don't fit into one response: the transaction repeats them one by one.
            reads = ReadSet()
        }
        let time = parts.elapsed()
        try parts.transactions.withLock { table throws(DocumentError) in
            _ = try table.begin(id, isReadOnly: false, context: context, at: time)
            table.prefetched(id, reads, version: batch.versions.applied)
        }
        turns.started(id, waiter, until: waiter.deadline ?? time + parts.configuration.turnLimit)
        waiter.operation.completion(.began(id, prefetched: prefetched))
    }

    /// Reads everything again in its current state. Only functions have turns, so there is no policy to check.
    private func prefetch(_ reads: ReadSet, _ view: DocumentView) throws -> [TransactionRead] {
        var budget = ReadBudget(parts.configuration.maxReadBytes)
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

    private func answer(to operation: StoreOperation, _ batch: CommitBatch) throws -> DocumentResponse? {
        guard let key = operation.context.completion else { return nil }
        return try CompletionRecord.answer(to: key, in: batch.storage, at: batch.now())?.response
    }

    func rollBack(_ id: TransactionID, _ context: OperationContext) -> DocumentResponse {
        let time = parts.elapsed()
        do {
            let transaction = try parts.transactions.withLock { table throws(DocumentError) in
                // It was aborted before; if it has a turn, the retry keeps it.
                if table.hasTicket(id, owner: context.owner) { return nil as OpenTransaction? }
                let transaction = try table.end(id, owner: context.owner, at: time)
                // A client that rolls back may still retry, and then names this transaction.
                table.issueTicket(for: transaction, at: time)
                return transaction
            }
            if let transaction { turns.leave(transaction.id) }
            return .rolledBack
        } catch {
            return .failed(error)
        }
    }
}

/// Ends the turns of an owner that is gone.
struct ReleaseJob: CommitJob {
    let owner: UInt64
    /// The owner's transactions that have ended.
    let ended: [TransactionID]
    let writer: DocumentWriter

    func run(in batch: CommitBatch) { writer.turns.release(owner: owner, ended) }
    func fail(_ error: DocumentError) { writer.turns.release(owner: owner, ended) }
}
