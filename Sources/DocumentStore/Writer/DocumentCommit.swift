import CommitPipeline
import DocumentModel
import StorageEngine
import Synchronization

/// The documents' part of a commit: writes, and the transaction that they end.
final class DocumentCommit: CommitPart {
    private let writes: [Write]
    private let id: TransactionID?
    private let writer: DocumentWriter
    private let parts: DocumentParts
    private var transaction: OpenTransaction?
    private var prepared: (computation: WriteComputation, documents: StoredDocuments)?

    init(
        _ writes: [Write], _ transaction: TransactionID?, _ writer: DocumentWriter, _ parts: DocumentParts
    ) {
        self.writes = writes
        id = transaction
        self.writer = writer
        self.parts = parts
    }

    /// What the commit costs; 0 if it was refused.
    var cost: Int { prepared.map { CommitCost($0.computation.changes, writer.catalog).total } ?? 0 }

    /// The answer to the caller.
    func answer(to outcome: CommitOutcome) -> Result<CommitAnswer, DocumentError> {
        switch outcome {
        case .applied(let version):
            .success(
                .committed(
                    CommitResult(
                        commitTime: Timestamp(microseconds: version),
                        writeResults: prepared?.computation.results ?? [])))
        case .completedBefore(.answer(let answer)): .success(.completed(answer))
        case .completedBefore(.otherData): .success(.keyReused)
        case .refused(let error): .failure(error)
        }
    }

    func begin(_ commit: Commit) throws -> CompletionKey? {
        guard let id else { return nil }
        let time = parts.elapsed()
        transaction = try parts.transactions.withLock { table throws(DocumentError) in
            try table.end(id, owner: commit.context.owner, at: time)
        }
        return transaction?.completion
    }

    func prepare(_ commit: Commit, version: Int64, in batch: CommitBatch) throws {
        if let transaction, !(writes.isEmpty && commit.effects.isEmpty) {
            if transaction.isReadOnly { throw DocumentError.invalidArgument("a read-only transaction can't write") }
            // A read-only transaction has seen one state, and needs no validation beyond that.
            if let conflict = parts.transactions.withLock({ $0.conflict(of: transaction) }) { throw conflict }
        }
        try checkPaths(in: commit)
        let documents = StoredDocuments(batch.storage, maxBytes: parts.configuration.maxCommitReadBytes)
        let isClient = commit.context.policy != nil
        let computation = try WriteComputation(
            writes, at: Timestamp(microseconds: version), policy: commit.context.policy, catalog: writer.catalog,
            repeated: RepeatedWork(parts.configuration, isClient: isClient), read: documents.document)
        // A document by itself has its own limits.
        if isClient, computation.changes.count > 1 {
            try CommitCost.check(
                CommitCost(computation.changes, writer.catalog).total, parts.configuration.maxClientCommitCost)
        }
        if let transaction, writer.turns.blocks(computation.changes, of: transaction) {
            throw DocumentError(
                .aborted, "another transaction has its turn on the same documents; try the transaction again")
        }
        prepared = (computation, documents)
    }

    /// Refuses a commit in which two parts write the same document. Each part starts from the stored document, so the
    /// second would overwrite the first.
    private func checkPaths(in commit: Commit) throws {
        guard commit.parts.count > 1 else { return }
        let paths = Set(writes.map(\.path))
        for case let other as DocumentCommit in commit.parts.prefix(while: { $0 !== self }) {
            guard let write = other.writes.first(where: { paths.contains($0.path) }) else { continue }
            throw DocumentError.invalidArgument(
                "two parts of a commit write the document \"\(write.path)\"; the writes of a document must be in one part"
            )
        }
    }

    func apply(version: Int64, in batch: CommitBatch, to storage: any StorageWriter) throws {
        guard let (computation, documents) = prepared else { return }
        var applied: [RecentChanges.Entry] = []
        for change in computation.changes {
            // Encoded once, for both the table and the log.
            let (key, before) = documents.stored(change.path)
            let after = change.after.map(StoredDocument.encode)
            if let after { try storage.put(.documents, key, after) } else { try storage.delete(.documents, key) }
            try storage.updateEntries(
                of: change.path, from: change.before?.fields, to: change.after?.fields, writer.catalog)
            try batch.log(key, of: DocumentWriter.self, before: before, after: after, version: version)
            applied.append(
                RecentChanges.Entry(
                    change, version: version, storedBytes: (before?.count ?? 0) + (after?.count ?? 0)))
        }
        // Writes that change nothing still have a commit time of their own.
        if !computation.results.isEmpty { batch.versions.claim(version) }
        if !applied.isEmpty { writer.note(applied, in: batch) }
    }

    func events(by routes: EventRoutes) -> [CausedEvent] {
        guard let changes = prepared?.computation.changes, !changes.isEmpty,
            let triggers: DocumentTriggers = routes.triggers(of: DocumentWriter.self)
        else { return [] }
        return triggers.events(of: changes)
    }

    /// An aborted transaction may be retried, and keeps the turn that it had until then.
    func end(_ outcome: CommitOutcome) {
        guard let transaction else { return }
        guard case .refused(let error) = outcome, error.code == .aborted else {
            return writer.turns.leave(transaction.id)
        }
        let time = parts.elapsed()
        parts.transactions.withLock { $0.issueTicket(for: transaction, at: time) }
    }
}
