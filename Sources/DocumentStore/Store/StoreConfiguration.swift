package import CommitPipeline

/// The bounds within which a store works.
package struct StoreConfiguration: Sendable {
    /// The bounds of the pipeline, for a store with one of its own.
    package var commits = CommitConfiguration()
    /// A transaction's whole life, and the time between two of its operations.
    package var transactionLifetime: Duration = .seconds(270)
    package var transactionIdle: Duration = .seconds(60)
    package var maxTransactions = 20_000
    /// Transactions that one client may have open; functions are bounded by the whole alone.
    package var maxTransactionsPerClient = 100
    /// Documents and queries that one transaction may read, and different queries among them.
    package var maxTransactionReads = 100_000
    package var maxTransactionQueries = 500
    /// What all open transactions may have read together, and those of one client; functions are bounded by the whole
    /// alone. A document counts as one for each 128 bytes of its name that are begun, a query as eight and more.
    package var maxNotedReads = 2_000_000
    package var maxNotedReadsPerClient = 50_000
    /// How many changes may be compared with the conditions of a transaction's queries; where it takes more, the
    /// transaction is aborted.
    package var maxValidationSteps = 1_000_000
    /// What a transaction may have read at most to get a turn when it is tried again.
    package var maxTurnReads = 1000
    /// Stored bytes of documents that one read may bring.
    package var maxReadBytes = 12 * 1024 * 1024
    /// Stored bytes of documents that one commit may find where it writes, and that rules may read for it.
    package var maxCommitReadBytes = 64 * 1024 * 1024
    /// How long a transaction that is tried again keeps its turn.
    package var turnLimit: Duration = .seconds(2)
    /// For how long, and how many, aborted transactions are remembered.
    package var ticketLifetime: Duration = .seconds(60)
    package var maxTickets = 10_000
    /// How much of the past transactions can be validated against.
    package var maxRecentChanges = 50_000
    package var maxRecentBytes = 32 * 1024 * 1024
    /// Listeners in all and of one client; functions are bounded by the whole alone.
    package var maxListeners = 20_000
    package var maxListenersPerClient = 100
    /// What one that isn't read from may hold back, and all of them together.
    package var maxListenerEvents = 1000
    package var maxListenerBytes = 16 * 1024 * 1024
    package var maxUnreadBytes = 256 * 1024 * 1024
    /// What the results that limits and offsets leave may hold, of all listeners and of one client's; functions are
    /// bounded by the whole alone.
    package var maxWindowBytes = 256 * 1024 * 1024
    package var maxWindowBytesPerClient = 32 * 1024 * 1024
    /// How long, within a minute, one may keep the thread of all with reading again what its limit leaves.
    package var maxRefillTime: Duration = .seconds(2)
    /// Changes that may wait for the listeners' thread; it reads what is more from the log.
    package var maxListenerBacklog = 64 * 1024 * 1024
    /// Told of queries that read much more than they return, once an hour for each shape, on a thread of the store: it
    /// must not block there.
    package var onCostlyQuery: (@Sendable (CostlyQuery) -> Void)?

    /// How much of building and dropping indexes one batch does: documents, and how long that may take, with nobody
    /// waiting for it and beside commits. Where somebody waits it ends with the latter, which it always has: else a
    /// store that is never idle would never have its indexes.
    package var indexBatch = 10_000
    package var indexBatchLimit: Duration = .milliseconds(8)
    package var indexShareLimit: Duration = .milliseconds(1)
    /// Told what happens to indexes, in order, on the writer's thread: it must not block there.
    package var onIndexEvent: (@Sendable (IndexEvent) -> Void)?

    package init() {}
}
