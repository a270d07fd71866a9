import DocumentModel

/// The transactions that functions have open at a service elsewhere, under ids of our own.
///
/// One that was lost is kept until it is tried again, since the service wants to know which that is, or until its owner
/// is gone.
struct RemoteTransactions {
    struct Entry {
        var owner: UInt64?
        /// The service's own id of it.
        var remote: [UInt8]
        /// How often it was tried before.
        var failures: Int
        /// What its commit keeps an answer on; nil where there is no key.
        var completion: Write.Precondition?
        fileprivate(set) var phase = Phase.open
    }

    enum Phase {
        case open
        /// Its end is under way: nobody ends it a second time.
        case ending
        case lost
    }

    private var entries: [TransactionID: Entry] = [:]
    private var byOwner: [UInt64: Set<TransactionID>] = [:]

    static let maxCount = 20_000

    var count: Int { entries.count }

    /// - Throws: `resourceExhausted` where too many are open.
    func checkRoom() throws(DocumentError) {
        guard entries.count < Self.maxCount else {
            throw DocumentError(.resourceExhausted, "too many transactions are open; try again later")
        }
    }

    /// Takes one in that has begun.
    mutating func add(_ entry: Entry) -> TransactionID {
        var id = TransactionID(rawValue: .random(in: 1 ... .max))
        while entries[id] != nil { id = TransactionID(rawValue: .random(in: 1 ... .max)) }
        entries[id] = entry
        if let owner = entry.owner { byOwner[owner, default: []].insert(id) }
        return id
    }

    /// - Throws: `invalidArgument` where none is open under this id and owner.
    func find(_ id: TransactionID, owner: UInt64?) throws(DocumentError) -> Entry {
        guard let entry = entries[id], entry.owner == owner, case .open = entry.phase else {
            throw .invalidArgument("this transaction is not open; it was ended, or never begun")
        }
        return entry
    }

    /// Lets nobody else use or end one whose end begins.
    ///
    /// - Throws: `invalidArgument` where none is open under this id and owner.
    mutating func beginEnd(_ id: TransactionID, owner: UInt64?) throws(DocumentError) -> Entry {
        let entry = try find(id, owner: owner)
        entries[id]?.phase = .ending
        return entry
    }

    /// Whether it has lost to others and may be tried again.
    func isLost(_ id: TransactionID, owner: UInt64?) -> Bool {
        guard let entry = entries[id], entry.owner == owner, case .lost = entry.phase else { return false }
        return true
    }

    /// A commit was refused: the service has ended the transaction or not, so it can still be rolled back.
    ///
    /// - Returns: whether it is known still; its owner may be gone, who would have done that.
    mutating func refused(_ id: TransactionID) -> Bool {
        entries[id]?.phase = .open
        return entries[id] != nil
    }

    /// It has lost to others, and may be tried again.
    mutating func lost(_ id: TransactionID) { entries[id]?.phase = .lost }

    mutating func remove(_ id: TransactionID) {
        guard let owner = entries.removeValue(forKey: id)?.owner else { return }
        byOwner[owner]?.remove(id)
        if byOwner[owner]?.isEmpty ?? false { byOwner[owner] = nil }
    }

    /// What one that is tried again was. It is kept until the new one has begun, as beginning may fail too.
    ///
    /// - Returns: nil where it isn't known any more; the new one is then as any other.
    mutating func retry(_ id: TransactionID, owner: UInt64?) -> Entry? {
        guard let entry = entries[id], entry.owner == owner else { return nil }
        if case .ending = entry.phase { return nil }
        entries[id]?.phase = .lost
        entries[id]?.failures += 1
        return entry
    }

    /// Forgets all of an owner.
    ///
    /// - Returns: the service's ids of those that are still open there.
    mutating func release(owner: UInt64) -> [[UInt8]] {
        (byOwner.removeValue(forKey: owner) ?? []).compactMap { id in
            guard let entry = entries.removeValue(forKey: id), case .open = entry.phase else { return nil }
            return entry.remote
        }
    }

    /// Forgets all.
    ///
    /// - Returns: the service's ids of those that are still open there.
    mutating func releaseAll() -> [[UInt8]] {
        defer { (entries, byOwner) = ([:], [:]) }
        return entries.values.compactMap { entry in if case .open = entry.phase { entry.remote } else { nil } }
    }
}
