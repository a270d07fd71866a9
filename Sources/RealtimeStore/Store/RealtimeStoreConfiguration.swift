/// The limits and choices of the Realtime Database.
package struct RealtimeStoreConfiguration: Sendable {
    /// Whether a namespace exists from its first use, as in development, or only once it was declared.
    package var createsNamespaces = true
    package var limits = RealtimeReadLimits()
    /// What the writer hashes again of what a commit depends on, while all others wait. Beyond it, what may have changed since
    /// a reader hashed it counts as changed, and the caller retries.
    package var writerLimits = RealtimeReadLimits(maxQueryNodes: 5_000, maxBytes: 512 * 1024)
    /// What the writer's checks of a commit may cost, in units of about 50 ns: 1 ms. Beyond it, readers decide again.
    package var maxWriterCheckCost = 20_000
    /// Likewise, for a commit that has returned to the readers several times.
    package var maxLastWriterCheckCost = 400_000
    /// What a short read hashes of what a commit depends on. If there is more, it takes the turn of a long read.
    package var shortLimits = RealtimeReadLimits(maxQueryNodes: 1_000, maxBytes: 64 * 1024)
    /// What bringing a query listener up to date may look at while all other listeners wait. If it needs more, the
    /// whole result is read beside them.
    package var windowLimits = RealtimeReadLimits(maxQueryNodes: 2_000, maxBytes: 1024 * 1024)
    /// What is read at once for the listeners, without a query, of what a large value has changed. Those that are left end:
    /// their clients come back, and are read for by turns.
    package var maxReloadedBytes = 16 * 1024 * 1024
    /// What the result of a query may have that is read beside the listeners and pushed as a whole. The listeners of a larger
    /// one end too: no client may leave more unread.
    package var maxRefreshedBytes = 4 * 1024 * 1024
    /// The children that match the queries that are listened to, which are kept in memory: of all of them together, and
    /// of those of one caller. A long key or value counts as several.
    package var maxWindowEntries = 2_000_000
    package var maxCallerWindowEntries = 500_000
    /// A subtree with more rows is deleted or replaced without looking at them, and moved back only while it has no
    /// more.
    package var maxComparedRows = 2_000
    /// The rows that one batch moves or removes in the background: beside commits, and in a batch without commits. Beside
    /// commits it may be eight times as many if much waits.
    package var maxSweptRows = 256
    package var maxIdleSweptRows = 4_096
    /// A namespace with more extents (see `TreeLayout`) moves even large ones back.
    package var maxExtents = 64

    /// What the nodes take that are kept in memory since they were read lately, about.
    package var maxCachedBytes = 8 * 1024 * 1024

    /// The onDisconnect writes of one session, and their bytes.
    package var maxDisconnects = 1_000
    package var maxDisconnectBytes = 4 * 1024 * 1024

    package init() {}
}
