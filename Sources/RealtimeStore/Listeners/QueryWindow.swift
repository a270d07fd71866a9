import RealtimeModel

/// The children that match a query, in its order.
struct QueryWindow {
    /// How the matches have changed.
    struct Difference {
        var left: Set<RealtimeKey> = []
        var entered: Set<RealtimeKey> = []
        /// Changed children that were matches and still are.
        var kept: Set<RealtimeKey> = []
    }

    private let query: RealtimeQuery
    private var entries: [RealtimeIndexEntry]
    private var byKey: [RealtimeKey: RealtimeIndexEntry] = [:]

    init(_ matches: [RealtimeIndexEntry], _ query: RealtimeQuery) {
        self.query = query
        entries = matches
        for entry in matches { byKey[entry.key] = entry }
    }

    private var limit: Int? {
        switch query.limit {
        case .first(let count)?, .last(let count)?: count
        case nil: nil
        }
    }

    private var isLast: Bool {
        if case .last? = query.limit { true } else { false }
    }

    /// - Parameters:
    ///   - changed: the children that may have changed.
    ///   - new: the entries of those that exist.
    ///   - refill: finds all matches; called if one has left and what follows it isn't known.
    mutating func update(
        changed: Set<RealtimeKey>, to new: [RealtimeIndexEntry], refill: () throws -> [RealtimeIndexEntry]
    ) rethrows -> Difference {
        let before = byKey
        let wasFull = limit.map { entries.count >= $0 } ?? false
        // Beyond this one, children that haven't changed aren't known.
        let edge = wasFull ? (isLast ? entries.first : entries.last) : nil
        for key in changed { remove(key) }
        for entry in new where query.includes(entry) {
            if let edge, isLast ? entry < edge : edge < entry { continue }
            insert(entry)
        }
        if let limit {
            if entries.count < limit, wasFull {
                self = QueryWindow(try refill(), query)
            } else {
                while entries.count > limit { remove((isLast ? entries[0] : entries[entries.count - 1]).key) }
            }
        }
        var difference = Difference()
        for key in changed where before[key] != nil {
            if byKey[key] != nil { difference.kept.insert(key) } else { difference.left.insert(key) }
        }
        for key in changed where before[key] == nil && byKey[key] != nil { difference.entered.insert(key) }
        // Limits move children in and out that haven't changed.
        if limit != nil {
            for key in before.keys where byKey[key] == nil { difference.left.insert(key) }
            for key in byKey.keys where before[key] == nil { difference.entered.insert(key) }
        }
        return difference
    }

    private mutating func insert(_ entry: RealtimeIndexEntry) {
        byKey[entry.key] = entry
        entries.insert(entry, at: place(of: entry))
    }

    private mutating func remove(_ key: RealtimeKey) {
        guard let entry = byKey.removeValue(forKey: key) else { return }
        entries.remove(at: place(of: entry))
    }

    /// The position of an entry, or where it would be inserted.
    private func place(of entry: RealtimeIndexEntry) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle] < entry { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
