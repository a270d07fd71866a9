import DocumentModel

/// The limits of a document store, besides those of its commit pipeline.
package struct StoreConfiguration: Sendable {
    /// A transaction's maximum duration, and the maximum time between two of its operations.
    package var transactionLifetime: Duration = .seconds(270)
    package var transactionIdle: Duration = .seconds(60)
    /// Open transactions; at most half of them may be clients'.
    package var maxTransactions = 20_000
    /// Transactions that one client may have open, fewer once most of the clients' half is taken; for functions only the
    /// total is limited.
    package var maxTransactionsPerClient = 100
    /// Documents and queries that one transaction may read, and the different queries among them.
    package var maxTransactionReads = 100_000
    package var maxTransactionQueries = 500
    /// The reads that all open transactions may have recorded together, at most half of them clients', and those of one
    /// client; for functions only the total is limited. A document counts as one plus one for each full 128 bytes of its path, a query as eight or
    /// more.
    package var maxNotedReads = 2_000_000
    package var maxNotedReadsPerClient = 50_000
    /// How many comparisons of changes with the conditions of a transaction's queries are allowed, where those of large
    /// values count as several; if validation needs more, the transaction is aborted.
    package var maxValidationSteps = 1_000_000
    /// The maximum number of reads with which a transaction gets a turn when it is retried.
    package var maxTurnReads = 1000
    /// How large the documents may be that one read returns, in the host's memory or as JSON.
    package var maxReadBytes = DocumentLimits.maxWeight
    /// The memory for documents that were read lately, about.
    package var maxCachedBytes = 16 * 1024 * 1024
    /// What one query of a client may read; functions' queries end only with their invocation.
    package var clientQueryLimits = QueryLimits(entries: 5_000_000, documents: 100_000, time: .seconds(10))
    /// How many documents and index entries one commit of a client may change, about.
    package var maxClientCommitCost = 50_000
    /// What the decision on a client's commit may read.
    package var clientCommitLimits = QueryLimits(entries: 200_000, documents: 200_000, time: .seconds(10))
    /// The bytes that one commit may compute again, and that a client's may: the fields of a document that it updates
    /// again, and the elements of an array that a write transforms again, each 8 at least.
    package var maxRepeatedBytes = 64 * 1024 * 1024
    package var maxClientRepeatedBytes = 1024 * 1024
    /// The stored bytes of the documents that one commit may replace, and of those that rules may read for it. In memory
    /// they may take twice as much.
    package var maxCommitReadBytes = 64 * 1024 * 1024
    /// The memory of the documents that clients' decided commits may replace, and of the rows that were made for them,
    /// while they wait for the writer. What is beyond is computed again by the writer.
    package var maxHeldBytes = 64 * 1024 * 1024
    /// How long a transaction keeps its turn, and how long a read waits for one.
    package var turnLimit: Duration = .seconds(2)
    /// How long a document stays hot after a conflict: until then, functions' transactions wait for their turn before they
    /// read it, for `turnLimit` at most. Zero for no waiting.
    package var hotTime: Duration = .seconds(2)
    /// How long, and how many, aborted transactions are remembered for their retries. Rolling back succeeds for as many
    /// that ended in any way.
    package var ticketLifetime: Duration = .seconds(60)
    package var maxTickets = 10_000
    /// The recent changes that are kept for validating transactions, and the memory that they take.
    package var maxRecentChanges = 50_000
    package var maxRecentBytes = 96 * 1024 * 1024
    /// What is beyond these bytes, and older than the time, is kept only while an open transaction has read a state that
    /// is older still. Who reads a state that is older than what is kept looks into the change log.
    package var maxUnneededBytes = 16 * 1024 * 1024
    package var recentTime: Duration = .seconds(1)
    /// Listeners in total and of one client; for functions only the total is limited.
    package var maxListeners = 20_000
    package var maxListenersPerClient = 2000
    /// What a listener that isn't read may hold back, and what all listeners may hold back together, in memory.
    package var maxListenerEvents = 1000
    package var maxListenerBytes = 16 * 1024 * 1024
    package var maxUnreadBytes = 256 * 1024 * 1024
    /// The size of what all listeners listen to, and those of one client; for functions only the total is limited.
    package var maxTargetBytes = 256 * 1024 * 1024
    package var maxTargetBytesPerClient = 32 * 1024 * 1024
    /// The memory of the windows of all listeners, and of those of one client; for functions only the total is limited.
    package var maxWindowBytes = 512 * 1024 * 1024
    package var maxWindowBytesPerClient = 32 * 1024 * 1024
    /// How long per minute the listeners of one client, or one listener of a function, may keep the shared thread busy
    /// with refilling windows.
    package var maxRefillTime: Duration = .seconds(2)
    /// What finding out the effect of changes on one client's listeners, and deciding on it, may take of a minute: all
    /// listeners wait meanwhile.
    package var maxDeliveryTime: Duration = .seconds(5)
    /// The memory of the changes that may wait for the listeners' thread; it reads further changes from the log.
    package var maxListenerBacklog = 64 * 1024 * 1024
    /// Called with queries that read much more than they return, once an hour for each shape, on a thread of the store:
    /// it must not block.
    package var onCostlyQuery: (@Sendable (CostlyQuery) -> Void)?

    /// How much work on indexes one batch does: the number of documents, and the time limits without and with other
    /// work waiting. Even with other work waiting, each batch spends the latter on indexes: otherwise a store that is
    /// never idle would never finish its indexes.
    package var indexBatch = 10_000
    package var indexBatchLimit: Duration = .milliseconds(8)
    package var indexShareLimit: Duration = .milliseconds(1)
    /// Called with what happens to indexes, in order, on the writer's thread: it must not block.
    package var onIndexEvent: (@Sendable (IndexEvent) -> Void)?

    package init() {}
}
