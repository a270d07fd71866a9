import CommitPipeline
import DocumentModel

/// The record of an aborted transaction, for the transaction that retries it.
struct RetryTicket: Sendable {
    /// The transaction that was aborted.
    var transaction: TransactionID
    /// An earlier attempt, by which the client may name it too.
    var alias: TransactionID?
    var reads: ReadSet
    var owner: UInt64?
    var issued: Duration
}

/// The tickets of aborted transactions, each for one retry. Bounded: the oldest are removed first.
struct RetryTickets: Sendable {
    private var tickets: [TransactionID: RetryTicket] = [:]
    /// The tickets of aborted transactions by an earlier attempt.
    private var aliases: [TransactionID: TransactionID] = [:]
    private var byOwner: [UInt64: Set<TransactionID>] = [:]
    /// By age; used tickets are skipped.
    private var ages = IndexedQueue<TransactionID>()

    mutating func issue(_ ticket: RetryTicket, limit: Int) {
        let id = ticket.transaction
        remove(id)
        tickets[id] = ticket
        if let alias = ticket.alias { aliases[alias] = id }
        if let owner = ticket.owner { byOwner[owner, default: []].insert(id) }
        ages.append(id)
        while let oldest = ages.first, tickets.count > limit || tickets[oldest] == nil {
            _ = ages.popFirst()
            remove(oldest)
        }
        guard ages.count > limit * 2 else { return }
        // One old ticket can keep many used ones behind it in the queue.
        var rest = IndexedQueue<TransactionID>()
        while let id = ages.popFirst() {
            if tickets[id] != nil { rest.append(id) }
        }
        ages = rest
    }

    mutating func take(_ id: TransactionID, owner: UInt64?) -> RetryTicket? {
        guard let found = find(id, owner: owner) else { return nil }
        return remove(found.transaction)
    }

    func contains(_ id: TransactionID, owner: UInt64?) -> Bool { find(id, owner: owner) != nil }

    private func find(_ id: TransactionID, owner: UInt64?) -> RetryTicket? {
        guard let ticket = tickets[id] ?? aliases[id].flatMap({ tickets[$0] }), ticket.owner == owner else {
            return nil
        }
        return ticket
    }

    mutating func release(owner: UInt64) -> [TransactionID] {
        let ids = Array(byOwner[owner] ?? [])
        for id in ids { remove(id) }
        return ids
    }

    mutating func expire(issuedBefore time: Duration) {
        while let oldest = ages.first {
            if let ticket = tickets[oldest], ticket.issued >= time { return }
            _ = ages.popFirst()
            remove(oldest)
        }
    }

    @discardableResult
    private mutating func remove(_ id: TransactionID) -> RetryTicket? {
        guard let ticket = tickets.removeValue(forKey: id) else { return nil }
        if let alias = ticket.alias, aliases[alias] == id { aliases[alias] = nil }
        if let owner = ticket.owner {
            byOwner[owner]?.remove(id)
            if byOwner[owner]?.isEmpty ?? false { byOwner[owner] = nil }
        }
        return ticket
    }
}
