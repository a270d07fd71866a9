import CommitPipeline
import DocumentModel
import StorageEngine
import Synchronization

/// Decides on a client's large commit before it reaches the one writer: a commit that costs too much, or that the policy
/// refuses, costs the writer nothing.
///
/// The writer decides again, on the state that it changes.
struct ClientCommitCheck: DocumentRead {
    enum Decision: Sendable {
        case leftToWriter
        /// The commit has ended, and its transaction with it.
        case refused(DocumentError)
    }

    let store: DocumentStore
    let writes: [Write]
    let transaction: TransactionID?
    let context: OperationContext
    /// Called with a failure if nothing was decided.
    let completion: DocumentStore.Completion<Decision>

    var readTime: Timestamp? { nil }
    var caller: ReadCaller? { context.clientCommit }

    /// Up to these, writes cost the writer too little to be looked at twice.
    private static let maxUncheckedSteps = 10
    private static let maxUncheckedBytes = 64 * 1024
    /// The transform of an array handles all of its elements.
    private static let stepsPerArray = 5
    /// A field of a mask costs little beside its document.
    private static let pathsPerStep = 10

    /// Whether writes are so many, or so large, that they are checked first.
    static func isNeeded(_ writes: [Write], _ context: OperationContext) -> Bool {
        guard context.policy != nil else { return false }
        var (steps, bytes) = (0, 0)
        for write in writes {
            steps += 1 + write.maskPaths / pathsPerStep
            steps += write.transforms.reduce(0) { $0 + ($1.isOfArray ? stepsPerArray : 1) }
            bytes += DocumentLimits.size(of: write)
            if steps > maxUncheckedSteps || bytes > maxUncheckedBytes { return true }
        }
        return false
    }

    func answer(from view: DocumentView, version: Int64) throws -> Decision? {
        do {
            try check(view)
            return .leftToWriter
        } catch let error as DocumentError where !error.isOfCheckItself {
            // A conflict is its error rather than this one, which may follow from it.
            if let transaction, !isCurrent(transaction) { return .leftToWriter }
            return .refused(error)
        }
    }

    func complete(_ result: Result<Decision, DocumentError>) { completion(result) }

    private func check(_ view: DocumentView) throws {
        let configuration = store.configuration
        // A single mask has a bound of its own.
        let paths = writes.count > 1 ? writes.reduce(0) { $0 + $1.maskPaths } : 0
        try CommitCost.check(writes.count + paths, configuration.maxClientCommitCost)
        let documents = StoredDocuments(
            view.storage, maxBytes: configuration.maxCommitReadBytes, meter: store.parts.commitMeter(context))
        let computation = try WriteComputation(
            writes, at: store.now(), policy: context.policy, catalog: view.catalog,
            repeated: RepeatedWork(configuration, isClient: true), read: documents.document)
        // A document by itself has its own limits.
        guard computation.changes.count > 1 else { return }
        try CommitCost.check(CommitCost(computation.changes, view.catalog).total, configuration.maxClientCommitCost)
    }

    private func isCurrent(_ transaction: TransactionID) -> Bool {
        store.parts.transactions.withLock { $0.isCurrent(transaction, owner: context.owner) }
    }
}

/// Decides on a client's large batch of independent writes before it reaches the one writer, as ``ClientCommitCheck``
/// does: only writes that would be applied reach it.
struct ClientBatchCheck: DocumentRead {
    let store: DocumentStore
    let writes: [Write]
    let context: OperationContext
    /// Called with the refused writes, by their number.
    let completion: DocumentStore.Completion<[Int: DocumentError]>

    var readTime: Timestamp? { nil }
    var caller: ReadCaller? { context.clientCommit }

    func answer(from view: DocumentView, version: Int64) throws -> [Int: DocumentError]? {
        try DocumentLimits.check(batch: writes)
        let meter = store.parts.commitMeter(context)
        var refusals: [Int: DocumentError] = [:]
        // What the policy sees of the writes before.
        var after: [DocumentPath: Document?] = [:]
        var (cost, bytes) = (0, 0)
        var refusalOfAll: DocumentError?
        for (number, write) in writes.enumerated() {
            if let refusalOfAll {
                refusals[number] = refusalOfAll
                continue
            }
            do {
                let documents = StoredDocuments(
                    view.storage, maxBytes: store.configuration.maxCommitReadBytes, meter: meter)
                let computation = try WriteComputation(
                    [write], at: store.now(), policy: context.policy, catalog: view.catalog,
                    repeated: RepeatedWork(store.configuration, isClient: true)
                ) { path in
                    if let known = after[path] { return known }
                    return try documents.document(path)
                }
                for change in computation.changes {
                    after[change.path] = .some(change.after)
                    bytes += change.storedBytes
                }
                cost += CommitCost(computation.changes, view.catalog).total + write.maskPaths
            } catch let error as DocumentError where !error.isOfCheckItself {
                refusals[number] = error
                if meter.isExceeded { refusalOfAll = error }
                continue
            }
            do throws(DocumentError) {
                try CommitCost.check(cost, store.configuration.maxClientCommitCost)
                if bytes >= store.pipeline.configuration.maxBatchBytes { throw BatchWrite.batchIsFull }
            } catch {
                refusalOfAll = error
            }
        }
        return refusals
    }

    func complete(_ result: Result<[Int: DocumentError], DocumentError>) { completion(result) }
}

extension OperationContext {
    fileprivate var clientCommit: ReadCaller { .clientCommit(owner ?? 0) }
}

extension Write {
    /// How many paths its mask has.
    fileprivate var maskPaths: Int { if case .update(_, let mask) = operation { mask.count } else { 0 } }
}

extension DocumentError {
    /// Whether a check failed or was cancelled, rather than the commit.
    fileprivate var isOfCheckItself: Bool { code == .cancelled || code == .unavailable }
}

extension DocumentChange {
    /// About the bytes that its documents are stored in, before and after.
    fileprivate var storedBytes: Int {
        [before, after].reduce(0) { $0 + ($1.map { DocumentLimits.size(of: $0.fields) } ?? 0) }
    }
}
