import DocumentModel

/// When transactions may expire, by the second, so that the cost of a sweep depends only on the number found.
struct ExpiryBuckets: Sendable {
    private var buckets: [Int64: Set<TransactionID>] = [:]
    /// All buckets before this second are empty.
    private var next: Int64 = .max

    mutating func insert(_ id: TransactionID, at second: Int64) {
        buckets[second, default: []].insert(id)
        next = min(next, second)
    }

    mutating func remove(_ id: TransactionID, at second: Int64) {
        buckets[second]?.remove(id)
        if buckets[second]?.isEmpty ?? false { buckets[second] = nil }
    }

    /// Removes and returns all transactions that are due.
    mutating func due(at second: Int64) -> [TransactionID] {
        guard next <= second, !buckets.isEmpty else { return [] }
        var ids: [TransactionID] = []
        for due in buckets.keys.filter({ $0 <= second }) { ids += buckets.removeValue(forKey: due) ?? [] }
        next = buckets.keys.min() ?? .max
        return ids
    }
}
