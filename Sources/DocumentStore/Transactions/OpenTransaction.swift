import DocumentModel

/// A transaction that has begun and not ended.
struct OpenTransaction: Sendable {
    let id: TransactionID
    let owner: UInt64?
    /// Whether the transaction is subject to a policy; if so, it is retried without a turn.
    let isClient: Bool
    let isReadOnly: Bool
    /// The transaction that its client named when it began again: the last attempt or, with some clients, the first.
    var retried: TransactionID?
    let completion: CompletionKey?
    /// The version at which all reads are current; nil before the first read, unless a version was requested.
    var version: Int64?
    var reads = ReadSet()
    let begun: Duration
    var used: Duration
    /// The second at which its expiry is checked next; see ``ExpiryBuckets``.
    var due: Int64 = 0
    /// Whether it read something that was rolled back afterwards.
    var isLost = false
    /// Whether it has had a turn, or has waited for one.
    var hasTakenTurn = false
}
