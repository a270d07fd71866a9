package import DocumentModel
import StorageEngine

/// A kind of durable data, such as documents: what it does in each batch beside its jobs.
///
/// All but ``start()`` and ``shutDown()`` are called on the writer's thread, so that a kind needs no lock for what only
/// its jobs and these functions touch.
package protocol DataKind: AnyObject, Sendable {
    // MARK: Around the writer's life

    /// Starts threads of the kind's own.
    func start() throws

    /// Ends them, once the writer and the readers have ended.
    func shutDown() async

    /// The writer ends: callers that still wait are refused.
    func refuseAll(_ error: DocumentError)

    // MARK: In a batch

    /// A batch begins.
    func beginBatch()

    /// All jobs that waited have run; does what they made possible.
    ///
    /// - Throws: if the batch must not be kept.
    func finishRound(in batch: CommitBatch) throws

    /// Whether a caller that was answered in the open batch is likely to come back at once, and can share its sync.
    var expectsMoreJobs: Bool { get }

    /// Does some of the kind's background work.
    ///
    /// - Parameter isIdle: whether the batch has no jobs.
    /// - Throws: if the batch must not be kept.
    func work(in batch: CommitBatch, isIdle: Bool) throws

    /// Forgets what has expired. Called about once a second.
    ///
    /// - Returns: the oldest version that is still read from the change log; nil if none is.
    func expire() -> Int64?

    /// The generation of what a reader keeps in memory of the kind, such as a catalog; the version's row names it, so that
    /// a snapshot's reader sees at once whether what it keeps fits. Nil for kinds without; the row has room for one kind's.
    var generation: Int64? { get }

    // MARK: After a batch

    /// The batch is durable. Called before any of its jobs is answered.
    ///
    /// - Parameter version: the version of the new state; nil if it is that of the last batch.
    func committed(_ version: Int64?)

    /// Nothing of the batch was kept.
    ///
    /// - Parameter version: that of the last durable state.
    func rollBack(to version: Int64, _ error: DocumentError)

    /// How long the writer may sleep; nil for as long as there are no jobs.
    var pause: Duration? { get }
}

extension DataKind {
    package func start() throws {}
    package func shutDown() async {}
    package func refuseAll(_ error: DocumentError) {}
    package func beginBatch() {}
    package func finishRound(in batch: CommitBatch) throws {}
    package var expectsMoreJobs: Bool { false }
    package func work(in batch: CommitBatch, isIdle: Bool) throws {}
    package func expire() -> Int64? { nil }
    package var generation: Int64? { nil }
    package func committed(_ version: Int64?) {}
    package func rollBack(to version: Int64, _ error: DocumentError) {}
    package var pause: Duration? { nil }
}
