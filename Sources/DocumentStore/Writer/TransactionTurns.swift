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

    func isAwaited(_ transaction: TransactionID) -> Bool { turns.hasTurn(transaction) }

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

    /// Begins a transaction that retries an aborted one. The caller receives the answer once it has its turn.
    func begin(_ begin: RetryBegin, in batch: CommitBatch) {
        let context = begin.context
        do {
            if let earlier = try earlier(context, batch) { return begin.complete(earlier, with: batch) }
            let time = parts.elapsed()
            // Turns delay others, so only functions get them: a client could take one and never continue.
            let ticket =
                context.policy == nil
                ? parts.transactions.withLock { $0.takeTicket(begin.retried, owner: context.owner, at: time) } : nil
            guard let ticket else {
                // The ticket has expired or never existed: an ordinary begin.
                let id = try parts.transactions.withLock { table throws(DocumentError) in
                    try table.begin(isReadOnly: false, retrying: begin.retried, context: context, at: time)
                }
                return begin.completion(.success(.began(id, prefetched: [])))
            }
            turns.join(WriterTurns.Waiter(begin: begin, aborted: ticket.transaction, reads: ticket.reads))
        } catch {
            begin.fail(DocumentError(from: error))
        }
    }

    /// A transaction reads hot documents: it waits for its turn.
    func wait(_ read: TurnRead) {
        read.read.context.answer?.waits()
        let time = parts.elapsed()
        parts.transactions.withLock { $0.noteWait(for: read.hot, at: time) }
        turns.join(read, until: time + parts.configuration.turnLimit)
    }

    /// Answers the transactions whose turn has come, with the current state of what they had read.
    func startGranted(in batch: CommitBatch, _ catalog: IndexCatalog) throws {
        while let granted = turns.nextGranted() {
            switch granted {
            case .begin(let id, let waiter): try begin(id, waiter, batch, catalog)
            case .read(let read):
                turns.started(read, until: parts.elapsed() + parts.configuration.turnLimit)
                if !read.perform(in: batch, catalog) { turns.leave(read.transaction) }
            case .overdueRead(let read): _ = read.perform(in: batch, catalog)
            }
        }
    }

    private func begin(
        _ id: TransactionID, _ waiter: WriterTurns.Waiter, _ batch: CommitBatch, _ catalog: IndexCatalog
    ) throws {
        // Its turn would hold up all behind it until its limit.
        guard waiter.begin.isWanted else {
            turns.leave(id)
            return waiter.begin.fail(.callerLeft)
        }
        do {
            try start(id, waiter, batch, catalog)
        } catch {
            turns.leave(id)
            parts.transactions.withLock { table in
                _ = try? table.end(id, owner: waiter.begin.context.owner, at: parts.elapsed())
            }
            waiter.begin.fail(DocumentError(from: error))
            if let error = error as? StorageError, !error.isOfRows { throw error }
        }
    }

    private func start(
        _ id: TransactionID, _ waiter: WriterTurns.Waiter, _ batch: CommitBatch, _ catalog: IndexCatalog
    ) throws {
        let context = waiter.begin.context
        // The transaction ahead may have done the same work.
        if let earlier = try earlier(context, batch) {
            turns.leave(id)
            return waiter.begin.complete(earlier, with: batch)
        }
        var (prefetched, reads) = ([TransactionRead](), waiter.reads)
        do {
            // A client that isn't sent what was read reads it by itself.
            if context.retriesCommitsOnly { reads = ReadSet() }
            prefetched = try prefetch(reads, DocumentView(batch.storage, catalog), context)
        } catch let error as DocumentError where error.code == .resourceExhausted {
            // The reads don't fit into one response: the transaction repeats them one by one.
            reads = ReadSet()
        }
        let time = parts.elapsed()
        try parts.transactions.withLock { table throws(DocumentError) in
            _ = try table.begin(
                id, isReadOnly: false, retrying: waiter.begin.retried, context: context, at: time)
            guard reads.count > 0 else { return }
            table.prefetched(id, reads, version: batch.versions.applied)
        }
        let readsByItself = reads.count == 0 && waiter.reads.count > 0
        turns.started(
            id, waiter, until: waiter.deadline ?? time + parts.configuration.turnLimit, isAnswered: !readsByItself)
        let answer = Result<BeginAnswer, DocumentError>.success(.began(id, prefetched: prefetched))
        guard readsByItself else { return waiter.begin.completion(answer) }
        // Until then, readers find the state before the transaction ahead, with which its commit would be aborted. The
        // answer is valid whatever the outcome of the batch.
        batch.whenDurable { [completion = waiter.begin.completion] _ in completion(answer) }
    }

    private static let prefetchLimits = QueryLimits(entries: 10_000, documents: 1000, time: .milliseconds(5))

    /// Reads everything again in its current state. Only functions have turns, so there is no policy to check.
    private func prefetch(
        _ reads: ReadSet, _ view: DocumentView, _ context: OperationContext
    ) throws -> [TransactionRead] {
        var budget = ReadBudget(parts.configuration.maxReadBytes, answer: context.answer)
        // All commits wait meanwhile. What takes longer, the transaction reads by itself.
        let meter = QueryMeter(Self.prefetchLimits, elapsed: parts.elapsed) { what, _ in
            DocumentError(.resourceExhausted, "reads before a retry may read \(what), the limit")
        }
        var prefetched: [TransactionRead] = []
        for path in reads.documents {
            let document = try view.document(path, meter)
            try budget.take(document, at: path)
            prefetched.append(.document(path, document))
        }
        for (query, normalized) in reads.queries where !reads.aggregated.contains(query) {
            let documents = try normalized.run(in: view, within: budget.beforeAnswer, meter: meter)
            try budget.take(documents.reduce(0) { $0 + $1.weight })
            prefetched.append(.query(query, documents))
        }
        return prefetched
    }

    /// What the function has answered before under the same key.
    private func earlier(_ context: OperationContext, _ batch: CommitBatch) throws -> BeginAnswer? {
        guard let key = context.completion else { return nil }
        return try CompletionRecord.answer(to: key, in: batch.storage, at: batch.now(), within: context.answer)
            .map(BeginAnswer.init)
    }

    func rollBack(_ id: TransactionID, _ context: OperationContext) throws(DocumentError) {
        let time = parts.elapsed()
        let transaction = try parts.transactions.withLock { table throws(DocumentError) in
            try table.rollBack(id, owner: context.owner, at: time)
        }
        if let transaction { turns.leave(transaction.id) }
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
