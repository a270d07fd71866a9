package import StorageEngine

/// The limits of a pipeline.
package struct CommitConfiguration: Sendable {
    package var readerThreads = 2
    /// The threads that serve clients' queries in turn, and those that decide on their large commits. Of one client, at most
    /// half of the threads of a kind serve reads at a time.
    package var callerReaderThreads = 4
    package var commitCheckThreads = 2
    package var maintenanceThreads = 2
    /// The reads of each kind that may wait for these threads: see ``ReadCaller``.
    package var maxCallerReads = 10_000
    /// Jobs that may wait for the threads of one kind.
    package var maxWaiting = 100_000
    /// The bytes of what is changed, before and after, at which a batch is full: waiting jobs go to the next batch. For
    /// documents these are what they take in memory.
    package var maxBatchBytes = 64 * 1024 * 1024
    /// How far back the store can be read, in time and in bytes of the change log. While older states are being read,
    /// the log may grow to twice the bytes.
    package var historyRetention: Duration = .seconds(3600)
    package var maxHistoryBytes = 1 << 30
    /// How long a batch takes jobs that come meanwhile. It is a few times what a sync takes, which they share then.
    package var joinLimit: Duration = .milliseconds(1)
    /// How long a batch stays open for callers that are likely to return: in total, and without a job.
    package var groupLimit: Duration = .milliseconds(6)
    package var groupPause: Duration = .milliseconds(2)
    /// Called on the writer's thread with the reason while the engine refuses commits, such as a full disk: once a
    /// minute for the same one. Called with nil once commits are kept again.
    package var onRefusal: @Sendable (StorageError?) -> Void = { _ in }
    /// Called on the writer's thread when damage stops work that no caller waits for, such as the removal of expired
    /// rows: once for each such work, with its name. Commits go on. Also called, once a minute, while commits are
    /// refused because the rows that they need can't be read at the moment.
    package var onDamage: @Sendable (String, StorageError) -> Void = { _, _ in }

    package init() {}
}
