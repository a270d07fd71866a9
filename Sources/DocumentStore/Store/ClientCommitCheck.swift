import CommitPipeline
import DocumentModel
import StorageEngine
import Synchronization

/// Decides on a client's commit before it reaches the one writer: one that costs too much, or that the policy refuses,
/// costs the writer nothing, and for any other the writer only looks whether the decision still holds.
struct ClientCommitCheck: DocumentRead {
    enum Decision: Sendable {
        /// Nil leaves it to the writer.
        case decided(CommitDecision?)
        /// The commit has ended, and its transaction with it.
        case refused(DocumentError)
    }

    let commit: WriteCommit
    let caller: ReadCaller?
    /// Called with a failure if nothing was decided.
    let completion: DocumentStore.Completion<Decision>

    init(_ commit: WriteCommit, completion: @escaping DocumentStore.Completion<Decision>) {
        self.commit = commit
        self.completion = completion
        caller = commit.context.caller(of: commit.writes)
    }

    var store: DocumentStore { commit.store }
    var context: OperationContext { commit.context }
    var readTime: Timestamp? { nil }

    func answer(from view: DocumentView, version: Int64) throws -> Decision? {
        // A conflict is known without a decision, which would be logged.
        if let transaction = commit.transaction, !isCurrent(transaction) { return .decided(nil) }
        do {
            return .decided(try decide(view, version))
        } catch let error as DocumentError where !error.isOfCheckItself {
            // A conflict is its error rather than this one, which may follow from it.
            if let transaction = commit.transaction, !isCurrent(transaction) { return .decided(nil) }
            return .refused(error)
        }
    }

    func complete(_ result: Result<Decision, DocumentError>) { completion(result) }

    private func decide(_ view: DocumentView, _ version: Int64) throws -> CommitDecision {
        let configuration = store.configuration
        // A single mask has a bound of its own.
        let paths = commit.writes.count > 1 ? commit.writes.reduce(0) { $0 + $1.maskPaths } : 0
        try CommitCost.check(commit.writes.count + paths, configuration.maxClientCommitCost)
        let meter = store.parts.commitMeter(context)
        let documents = StoredDocuments(view.storage, maxBytes: configuration.maxCommitReadBytes, meter: meter)
        let time = store.parts.requestTime(after: version)
        let outcome = try WriteComputation(
            commit.writes, at: time, policy: context.policy, catalog: view.catalog,
            repeated: RepeatedWork(configuration, isClient: true), meter: meter, read: documents.document
        ).outcome
        try CommitCost.check(outcome.changes, view.catalog, configuration)
        return CommitDecision(
            outcome, documents, at: version, time, isSmall: documents.bytes <= CommitDecision.maxHeldBytes,
            view.catalog, store.parts)
    }

    private func isCurrent(_ transaction: TransactionID) -> Bool {
        store.parts.transactions.withLock { $0.isCurrent(transaction, owner: context.owner) }
    }
}

/// Decides on a client's batch of independent writes before it reaches the one writer, as ``ClientCommitCheck`` does:
/// only writes that would be applied reach it.
struct ClientBatchCheck: DocumentRead {
    let store: DocumentStore
    let writes: [Write]
    let context: OperationContext
    let caller: ReadCaller?
    /// Called with what was decided, by the writes' numbers; what isn't there is left to the writer.
    let completion: DocumentStore.Completion<[Int: Result<CommitDecision, DocumentError>]>

    init(
        store: DocumentStore, writes: [Write], context: OperationContext,
        completion: @escaping DocumentStore.Completion<[Int: Result<CommitDecision, DocumentError>]>
    ) {
        self.store = store
        self.writes = writes
        self.context = context
        self.completion = completion
        caller = context.caller(of: writes)
    }

    var readTime: Timestamp? { nil }

    func answer(
        from view: DocumentView, version: Int64
    ) throws -> [Int: Result<CommitDecision, DocumentError>]? {
        try DocumentLimits.check(batch: writes)
        let meter = store.parts.commitMeter(context, isOfBatch: true)
        let time = store.parts.requestTime(after: version)
        var decisions: [Int: Result<CommitDecision, DocumentError>] = [:]
        // What the policy sees of the writes before.
        var after: [DocumentPath: Document?] = [:]
        var (cost, bytes, heldBytes) = (0, 0, 0)
        var refusalOfAll: DocumentError?
        for (number, write) in writes.enumerated() {
            if let refusalOfAll {
                decisions[number] = .failure(refusalOfAll)
                continue
            }
            do {
                let documents = StoredDocuments(
                    view.storage, maxBytes: store.configuration.maxCommitReadBytes, meter: meter)
                // Whether a write before it is applied is seen by the writer alone.
                var dependsOnBatch = false
                let outcome = try WriteComputation(
                    [write], at: time, policy: context.policy, catalog: view.catalog,
                    repeated: RepeatedWork(store.configuration, isClient: true), meter: meter
                ) { path in
                    if let known = after[path] {
                        dependsOnBatch = true
                        return known
                    }
                    return try documents.document(path)
                }.outcome
                for change in outcome.changes {
                    after[change.path] = .some(change.after)
                    bytes += change.weight
                }
                cost += CommitCost(outcome.changes, view.catalog).total + write.maskPaths
                heldBytes += documents.bytes
                if !dependsOnBatch {
                    let isSmall = heldBytes <= CommitDecision.maxHeldBytes
                    decisions[number] = .success(
                        CommitDecision(
                            outcome, documents, at: version, time, isSmall: isSmall, view.catalog, store.parts))
                }
            } catch {
                // As on the writer: a damaged document is its own write's.
                if let storage = error as? StorageError, storage.kind != .damaged { throw storage }
                let refusal = DocumentError(from: error)
                if refusal.isOfCheckItself { throw refusal }
                decisions[number] = .failure(refusal)
                if meter.isExceeded { refusalOfAll = refusal }
                continue
            }
            do throws(DocumentError) {
                // Sent by itself, such a write may succeed.
                try CommitCost.check(
                    cost, store.configuration.maxClientCommitCost, refusing: .resourceExhausted)
                if bytes >= store.pipeline.configuration.maxBatchBytes { throw BatchWrite.batchIsFull }
            } catch {
                refusalOfAll = error
            }
        }
        return decisions
    }

    func complete(_ result: Result<[Int: Result<CommitDecision, DocumentError>], DocumentError>) {
        completion(result)
    }
}

extension CommitDecision {
    /// The stored bytes that the decisions on one request may hold.
    fileprivate static let maxHeldBytes = 256 * 1024

    fileprivate init(
        _ outcome: WriteOutcome, _ documents: StoredDocuments, at version: Int64, _ time: Timestamp, isSmall: Bool,
        _ catalog: IndexCatalog, _ parts: DocumentParts
    ) {
        var computed: ComputedCommit?
        if isSmall {
            var small = ComputedCommit(outcome, documents.stored)
            small.makeRows(catalog)
            if small.hold(in: parts) { computed = small }
        }
        self.init(version: version, time: time, reads: Set(documents.stored.keys), computed: computed)
    }
}

extension DocumentParts {
    /// The time of a request that is decided on a state: later than all that it contains.
    fileprivate func requestTime(after version: Int64) -> Timestamp {
        max(now().truncatedToMicroseconds, Timestamp(microseconds: version + 1))
    }
}

extension OperationContext {
    /// Up to these, writes cost too little to wait for the client's other checks.
    private static let maxShortSteps = 10
    private static let maxShortBytes = 64 * 1024
    /// The transform of an array handles all of its elements.
    private static let stepsPerArray = 5
    /// A field of a mask costs little beside its document.
    private static let pathsPerStep = 10

    /// Whose turn the decision on a client's writes waits for.
    func caller(of writes: [Write]) -> ReadCaller {
        let owner = owner ?? 0
        var (steps, bytes) = (0, 0)
        for write in writes {
            steps += 1 + write.maskPaths / Self.pathsPerStep
            steps += write.transforms.reduce(0) { $0 + ($1.isOfArray ? Self.stepsPerArray : 1) }
            bytes += DocumentLimits.size(of: write)
            if steps > Self.maxShortSteps || bytes > Self.maxShortBytes { return .clientCommit(owner) }
        }
        return .clientGet(owner)
    }
}

extension Write {
    /// How many paths its mask has.
    fileprivate var maskPaths: Int { if case .update(_, let mask) = operation { mask.count } else { 0 } }
}

extension DocumentError {
    /// Whether a check failed or was cancelled, rather than the commit.
    fileprivate var isOfCheckItself: Bool { code == .cancelled || code == .unavailable }
}
