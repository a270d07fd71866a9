import CommitPipeline
import DocumentModel
import StorageEngine
import Synchronization

/// The documents' part of a commit: writes, and the transaction that they end.
final class DocumentCommit: CommitPart {
    private let writes: [Write]
    private let id: TransactionID?
    private let decision: CommitDecision?
    private let writer: DocumentWriter
    private let parts: DocumentParts
    private var transaction: OpenTransaction?
    private var prepared: ComputedCommit?
    /// Whether it was refused because what it was decided on has changed, and deciding again would keep the writer.
    private(set) var isUndecided = false
    /// What deciding has cost the writer.
    private(set) var decisionCost = 0
    private let maxDecisionCost: Int

    /// What the policy's decisions on a commit may cost the writer: about 1 ms, and what reading for them may.
    static let maxDecisionCost = 20_000
    private static let maxDecisionBytes = 8 << 20
    /// A decision that depends on the time holds for as long.
    private static let maxDecisionAge: Int64 = 1_000_000

    /// - Parameter decision: for a client's commit; nil leaves the decision to the writer.
    init(
        _ writes: [Write], _ transaction: TransactionID?, decision: CommitDecision? = nil,
        maxDecisionCost: Int = maxDecisionCost, _ writer: DocumentWriter, _ parts: DocumentParts
    ) {
        self.writes = writes
        id = transaction
        self.decision = decision
        self.maxDecisionCost = maxDecisionCost
        self.writer = writer
        self.parts = parts
    }

    /// What the commit costs; 0 if it was refused.
    var cost: Int { prepared.map { CommitCost($0.outcome.changes, writer.catalog).total } ?? 0 }

    /// The answer to the caller.
    func answer(to outcome: CommitOutcome) -> Result<CommitAnswer, DocumentError> {
        switch outcome {
        case .applied(let version):
            .success(
                .committed(
                    CommitResult(
                        commitTime: Timestamp(microseconds: version),
                        writeResults: prepared?.outcome.results ?? [])))
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

    func prepare(_ commit: Commit, version: Int64, by routes: EventRoutes, in batch: CommitBatch) throws {
        if let transaction, !(writes.isEmpty && commit.effects.isEmpty && commit.parts.count == 1) {
            if transaction.isReadOnly { throw DocumentError.invalidArgument("a read-only transaction can't write") }
            // A read-only transaction has seen one state, and needs no validation beyond that.
            let time = parts.elapsed()
            let conflict = parts.transactions.withLock { table in
                let conflict = table.conflict(of: transaction)
                if conflict != nil { table.noteConflict(of: transaction, at: time) }
                return conflict
            }
            if let conflict { throw conflict }
        }
        try checkPaths(in: commit)
        let time = Timestamp(microseconds: version)
        let computed =
            try decided(at: time, in: commit, batch)
            ?? compute(at: time, policy: commit.context.policy, in: commit, batch)
        if let transaction, writer.turns.blocks(computed.outcome.changes, of: transaction) {
            throw DocumentError(
                .aborted, "another transaction has its turn on the same documents; try the transaction again")
        }
        prepared = computed
    }

    /// What was decided before the writer; nil if that doesn't hold any more.
    private func decided(at time: Timestamp, in commit: Commit, _ batch: CommitBatch) throws -> ComputedCommit? {
        guard let decision, decision.time <= time,
            time.microseconds - decision.time.microseconds <= Self.maxDecisionAge,
            parts.transactions.withLock({ $0.isCurrent(decision) })
        else { return nil }
        var computed = try decision.computed ?? compute(at: decision.time, policy: nil, in: commit, batch)
        computed.outcome.move(from: decision.time, to: time)
        return computed
    }

    private func compute(
        at time: Timestamp, policy: (any AccessPolicy)?, in commit: Commit, _ batch: CommitBatch
    ) throws -> ComputedCommit {
        let documents = StoredDocuments(batch.storage, maxBytes: parts.configuration.maxCommitReadBytes)
        let isClient = commit.context.policy != nil
        let computation: WriteComputation
        do {
            computation = try WriteComputation(
                writes, at: time, policy: policy, maxDecisionCost: maxDecisionCost, catalog: writer.catalog,
                repeated: RepeatedWork(parts.configuration, isClient: isClient)
            ) { path in
                let document = try documents.document(path)
                if policy != nil, documents.bytes > Self.maxDecisionBytes { throw DecisionTooCostly() }
                return document
            }
            decisionCost = computation.decisionCost
        } catch is DecisionTooCostly {
            decisionCost = maxDecisionCost
            isUndecided = true
            throw DocumentError(
                .aborted, "documents that the decision on the write depends on were changed meanwhile; retry")
        }
        if isClient { try CommitCost.check(computation.outcome.changes, writer.catalog, parts.configuration) }
        return ComputedCommit(computation.outcome, documents.stored)
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
        guard let prepared else { return }
        var applied: [RecentChanges.Entry] = []
        for (number, change) in prepared.outcome.changes.enumerated() {
            let state = prepared.stored[number]
            let (key, before) = (state?.key ?? DocumentKeys.key(of: change.path), state?.bytes)
            let rows = prepared.rows(of: number, writer.catalog)
            // Encoded once, for both the table and the log.
            let after = change.after.flatMap { document in rows.draft?.encode(as: document) }
            if let after { try storage.put(.documents, key, after) } else { try storage.delete(.documents, key) }
            try storage.apply(rows.index)
            try batch.log(key, of: DocumentWriter.self, before: before, after: after, version: version)
            applied.append(
                RecentChanges.Entry(
                    change, version: version, storedBytes: (before?.count ?? 0) + (after?.count ?? 0),
                    weight: (state?.weight ?? 0) + prepared.outcome.weights[number]))
        }
        // Writes that change nothing still have a commit time of their own.
        if !prepared.outcome.results.isEmpty { batch.versions.claim(version) }
        if !applied.isEmpty { writer.note(applied, in: batch) }
    }

    func events(by routes: EventRoutes) -> [CausedEvent] {
        guard let changes = prepared?.outcome.changes, !changes.isEmpty,
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
