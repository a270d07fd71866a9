import CommitPipeline
import DocumentModel
import StorageEngine

/// Decides on a client's large commit before it reaches the one writer: a commit that costs too much, or that the policy
/// refuses, costs the writer nothing.
///
/// The writer decides again, on the state that it changes.
struct CommitCheck: DocumentRead {
    let store: DocumentStore
    let writes: [Write]
    let transaction: TransactionID?
    let context: OperationContext
    /// Called with a refusal, or with success if the writer is to decide.
    let completion: DocumentStore.Completion<Void>

    var readTime: Timestamp? { nil }
    var caller: ReadCaller? { context.client }

    /// Fewer writes cost the writer too little to be looked at twice.
    private static let leastWrites = 10
    private static let leastBytes = 64 * 1024

    static func isNeeded(_ writes: [Write], _ context: OperationContext) -> Bool {
        guard context.policy != nil else { return false }
        if writes.count > leastWrites { return true }
        var bytes = 0
        for write in writes {
            if case .set(let fields) = write.operation { bytes += DocumentLimits.size(of: fields) }
            if case .update(let fields, _) = write.operation { bytes += DocumentLimits.size(of: fields) }
        }
        return bytes > leastBytes
    }

    func answer(from view: DocumentView, version: Int64) throws -> Void? {
        let configuration = store.configuration
        try CommitCost.check(writes.count, configuration.maxClientCommitCost)
        let meter = store.parts.meter(context)
        var bytes = 0
        let computation: WriteComputation
        do {
            computation = try WriteComputation(
                writes, at: store.now(), policy: context.policy, catalog: view.catalog
            ) { path in
                let key = DocumentKeys.key(of: path)
                guard let stored = try view.storage.get(.documents, key) else {
                    try meter.readEntries()
                    return nil
                }
                try meter.readDocument(stored.count)
                bytes += stored.count
                guard bytes <= configuration.maxCommitReadBytes else {
                    throw DocumentError.readsTooMuch(configuration.maxCommitReadBytes)
                }
                return try StoredDocument.decode(stored, path: path)
            }
        } catch let exceeded as QueryMeter.Exceeded {
            throw exceeded.error(nil)
        } catch {
            // A transaction may have seen another state: a conflict is its error rather than this.
            if transaction != nil { return () }
            throw error
        }
        // A document by itself has its own limits.
        guard computation.changes.count > 1 else { return () }
        try CommitCost.check(CommitCost(computation.changes, view.catalog).total, configuration.maxClientCommitCost)
        return ()
    }

    func complete(_ result: Result<Void, DocumentError>) { completion(result) }
}
