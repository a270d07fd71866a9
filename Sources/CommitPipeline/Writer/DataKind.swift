package import DocumentModel
package import StorageEngine

/// A kind of durable data, such as documents, and its work in each batch apart from its jobs.
///
/// All functions except ``start()`` and ``shutDown()`` are called on the writer's thread, so a kind needs no lock for
/// state that only its jobs and these functions use.
package protocol DataKind: AnyObject, Sendable {
    /// Identifies the kind in what it shares with others: the change log, the version's row and the event routes. It is
    /// stored, so it never changes. The id 0 is that of the first kind, which needs no id in stored rows.
    static var id: UInt8 { get }

    // MARK: The writer's life cycle

    /// Starts the kind's own threads.
    func start() throws

    /// Ends its threads, once the writer and the readers have ended.
    func shutDown() async

    /// Called when the writer ends: refuses the callers that still wait.
    func refuseAll(_ error: DocumentError)

    // MARK: In a batch

    /// Called when a batch begins.
    func beginBatch()

    /// Called when all waiting jobs have run, or one for which others wait; does the work that they made possible.
    ///
    /// - Throws: if the batch must not be kept.
    func finishRound(in batch: CommitBatch, to storage: any StorageWriter) throws

    /// Whether a caller that was answered in the open batch is likely to return at once, and can share its sync.
    var expectsMoreJobs: Bool { get }

    /// Whether this transaction has something for which others may wait until it ends.
    func isAwaited(_ transaction: TransactionID) -> Bool

    /// Does some of the kind's background work.
    ///
    /// - Parameter isIdle: whether the batch has no jobs.
    /// - Throws: if the batch must not be kept.
    func work(in batch: CommitBatch, to storage: any StorageWriter, isIdle: Bool) throws

    /// Forgets what has expired. Called about once a second.
    ///
    /// - Returns: the oldest version that is still read from the change log; nil if none is.
    func expire() -> Int64?

    /// The generation of the data that readers cache of this kind, such as a catalog: a number from 0 that rises. The
    /// version's row names it, so that a snapshot's reader sees at once whether its cache is valid
    /// (``Snapshot/generations``). Nil for kinds without a cache.
    var generation: Int64? { get }

    // MARK: In a check

    /// Checks the kind's rows in one state. Called on any thread, beside the writer: uses only what is stored.
    ///
    /// - Returns: the kind's own result, such as counts, for ``CommitCheckResult/kinds``; nil if it has none.
    /// - Throws: `StorageError`, or what the run's functions throw.
    func check(_ run: CheckRun) throws -> (any Sendable)?

    // MARK: After a batch

    /// Called when the batch is durable, before any of its jobs is answered.
    ///
    /// - Parameter version: the version of the new state; nil if it hasn't changed since the last batch.
    func committed(_ version: Int64?)

    /// Called when nothing of the batch was kept.
    ///
    /// - Parameters:
    ///   - version: the version of the last durable state.
    ///   - error: what the callers receive.
    ///   - isDamage: whether the reason is damage, whatever the error is.
    func rollBack(to version: Int64, _ error: DocumentError, isDamage: Bool)

    /// How long the writer may sleep; nil for as long as there are no jobs.
    var pause: Duration? { get }
}

extension DataKind {
    package func start() throws {}
    package func shutDown() async {}
    package func refuseAll(_ error: DocumentError) {}
    package func beginBatch() {}
    package func finishRound(in batch: CommitBatch, to storage: any StorageWriter) throws {}
    package var expectsMoreJobs: Bool { false }
    package func isAwaited(_ transaction: TransactionID) -> Bool { false }
    package func work(in batch: CommitBatch, to storage: any StorageWriter, isIdle: Bool) throws {}
    package func expire() -> Int64? { nil }
    package var generation: Int64? { nil }
    package func check(_ run: CheckRun) throws -> (any Sendable)? { nil }
    package func committed(_ version: Int64?) {}
    package func rollBack(to version: Int64, _ error: DocumentError, isDamage: Bool) {}
    package var pause: Duration? { nil }
}
