import DocumentModel

/// The open transactions of functions at a remote service, under ids of our own.
///
/// A transaction that lost a conflict is kept until it is retried, because the retry must name it to the service, or
/// until its owner is released.
struct RemoteTransactions {
    struct Entry {
        var owner: UInt64?
        /// The service's own id of the transaction.
        var remoteID: [UInt8]
        /// The number of failed attempts before this one.
        var failures: Int
        /// The precondition for writing the kept answer in the commit; nil if the call has no key.
        var completion: Write.Precondition?
        fileprivate(set) var phase = Phase.open
    }

    enum Phase {
        case open
        /// A commit or rollback is in progress, so no other can begin.
        case ending
        case lost
    }

    private var entries: [TransactionID: Entry] = [:]
    private var byOwner: [UInt64: Set<TransactionID>] = [:]

    static let maxCount = 20_000

    var count: Int { entries.count }
    /// The number of invocations that have transactions.
    var ownerCount: Int { byOwner.count }

    /// - Throws: `resourceExhausted` if too many transactions are open.
    func checkCapacity() throws(DocumentError) {
        guard entries.count < Self.maxCount else {
            throw DocumentError(.resourceExhausted, "too many transactions are open; retry later")
        }
    }

    /// Adds a transaction that the service has begun.
    mutating func add(_ entry: Entry) -> TransactionID {
        var id = TransactionID(rawValue: .random(in: 1 ... .max))
        while entries[id] != nil { id = TransactionID(rawValue: .random(in: 1 ... .max)) }
        entries[id] = entry
        if let owner = entry.owner { byOwner[owner, default: []].insert(id) }
        return id
    }

    /// - Throws: `invalidArgument` if the owner has no open transaction of this id.
    func find(_ id: TransactionID, owner: UInt64?) throws(DocumentError) -> Entry {
        guard let entry = entries[id], entry.owner == owner, case .open = entry.phase else {
            throw .invalidArgument("this transaction is not open: it has ended, or was never begun")
        }
        return entry
    }

    /// Marks an open transaction as ending, after which it can be neither used nor ended by another request.
    ///
    /// - Throws: `invalidArgument` if the owner has no open transaction of this id.
    mutating func beginEnding(_ id: TransactionID, owner: UInt64?) throws(DocumentError) -> Entry {
        let entry = try find(id, owner: owner)
        entries[id]?.phase = .ending
        return entry
    }

    /// Whether the transaction lost a conflict and can be retried.
    func isLost(_ id: TransactionID, owner: UInt64?) -> Bool {
        guard let entry = entries[id], entry.owner == owner, case .lost = entry.phase else { return false }
        return true
    }

    /// Reopens a transaction whose commit was refused: the service may or may not have ended it, so it can still be
    /// rolled back.
    ///
    /// - Returns: false if its owner was released in the meantime; the caller must roll it back then.
    mutating func reopen(_ id: TransactionID) -> Bool {
        entries[id]?.phase = .open
        return entries[id] != nil
    }

    /// Notes that the transaction lost a conflict and can be retried.
    mutating func markLost(_ id: TransactionID) { entries[id]?.phase = .lost }

    mutating func remove(_ id: TransactionID) {
        guard let owner = entries.removeValue(forKey: id)?.owner else { return }
        byOwner[owner]?.remove(id)
        if byOwner[owner]?.isEmpty ?? false { byOwner[owner] = nil }
    }

    /// Returns the transaction that is being retried. It is kept until the new one has begun, because that can fail
    /// too.
    ///
    /// - Returns: nil if the transaction is unknown; the new one isn't a retry then.
    mutating func retry(_ id: TransactionID, owner: UInt64?) -> Entry? {
        guard let entry = entries[id], entry.owner == owner else { return nil }
        if case .ending = entry.phase { return nil }
        entries[id]?.phase = .lost
        entries[id]?.failures += 1
        return entry
    }

    /// Removes all transactions of an owner.
    ///
    /// - Returns: the service's ids of those that are still open there.
    mutating func release(owner: UInt64) -> [[UInt8]] {
        (byOwner.removeValue(forKey: owner) ?? []).compactMap { id in
            guard let entry = entries.removeValue(forKey: id), case .open = entry.phase else { return nil }
            return entry.remoteID
        }
    }

    /// Removes all transactions.
    ///
    /// - Returns: the service's ids of those that are still open there.
    mutating func releaseAll() -> [[UInt8]] {
        defer { (entries, byOwner) = ([:], [:]) }
        return entries.values.compactMap { entry in if case .open = entry.phase { entry.remoteID } else { nil } }
    }
}
