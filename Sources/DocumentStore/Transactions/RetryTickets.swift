import CommitPipeline
import DocumentModel

/// The tickets of aborted transactions, each for one retry. Bounded: the oldest are removed first.
struct RetryTickets: Sendable {
    private var tickets: [TransactionID: RetryTicket] = [:]
    private var byOwner: [UInt64: Set<TransactionID>] = [:]
    /// By age; used tickets are skipped.
    private var ages = IndexedQueue<TransactionID>()

    mutating func issue(_ ticket: RetryTicket, for id: TransactionID, limit: Int) {
        remove(id)
        tickets[id] = ticket
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
        guard contains(id, owner: owner) else { return nil }
        return remove(id)
    }

    func contains(_ id: TransactionID, owner: UInt64?) -> Bool { tickets[id].map { $0.owner == owner } ?? false }

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
        if let owner = ticket.owner {
            byOwner[owner]?.remove(id)
            if byOwner[owner]?.isEmpty ?? false { byOwner[owner] = nil }
        }
        return ticket
    }
}
