import RealtimeModel

/// The children that match a query. Their order is kept only if the query has a limit.
struct QueryWindow: Sendable {
    /// How the matches have changed.
    struct Difference: Equatable {
        var left: Set<RealtimeKey> = []
        var entered: Set<RealtimeKey> = []
        /// Changed children that were matches and still are.
        var kept: Set<RealtimeKey> = []
    }

    private let query: RealtimeQuery
    private let limit: Int?
    private let isLast: Bool
    /// What the matches are ordered by; null without a limit.
    private var values: [RealtimeKey: RealtimeIndexValue] = [:]
    /// The matches in their order; none without a limit.
    private var entries: [RealtimeIndexEntry] = []
    /// The size in memory, in entries with short keys and values.
    private(set) var size = 0

    /// If more children have changed, the window is sorted again.
    private static let maxInsertions = 32

    init(_ matches: [RealtimeIndexEntry], _ query: RealtimeQuery) {
        self.query = query
        switch query.limit {
        case .first(let count)?: (limit, isLast) = (count, false)
        case .last(let count)?: (limit, isLast) = (count, true)
        case nil: (limit, isLast) = (nil, false)
        }
        values.reserveCapacity(matches.count)
        if limit != nil { entries = matches }
        for entry in matches { note(entry) }
    }

    var keys: Dictionary<RealtimeKey, RealtimeIndexValue>.Keys { values.keys }

    /// Takes changes over. Without a limit, the cost depends only on how many there are.
    ///
    /// - Parameters:
    ///   - changed: the children that may have changed.
    ///   - new: the entries of those that exist.
    ///   - refill: finds all matches; called if one has left and what follows it isn't known.
    mutating func update(
        changed: Set<RealtimeKey>, to new: [RealtimeIndexEntry], refill: () throws -> [RealtimeIndexEntry]
    ) rethrows -> Difference {
        let before = changed.filter { values[$0] != nil }
        let wasFull = limit.map { entries.count >= $0 } ?? false
        // Beyond this one, children that haven't changed aren't known.
        let edge = wasFull ? (isLast ? entries.first : entries.last) : nil
        let included = new.filter { entry in
            guard query.includes(entry) else { return false }
            return edge.map { isLast ? $0 <= entry : entry <= $0 } ?? true
        }
        replace(before, by: included)
        var difference = Difference()
        if let limit {
            if entries.count < limit, wasFull {
                let old = values
                self = QueryWindow(try refill(), query)
                for key in old.keys where values[key] == nil { difference.left.insert(key) }
                for key in values.keys where old[key] == nil { difference.entered.insert(key) }
            } else {
                difference.left = trim(to: limit)
            }
        }
        for key in changed {
            let isMatch = values[key] != nil
            difference.left.remove(key)
            difference.entered.remove(key)
            switch (before.contains(key), isMatch) {
            case (true, true): difference.kept.insert(key)
            case (true, false): difference.left.insert(key)
            case (false, true): difference.entered.insert(key)
            case (false, false): break
            }
        }
        return difference
    }

    private mutating func replace(_ old: Set<RealtimeKey>, by new: [RealtimeIndexEntry]) {
        let isSorted = limit != nil
        let isSortedAgain = old.count + new.count > Self.maxInsertions
        if isSorted, isSortedAgain { entries.removeAll { old.contains($0.key) } }
        for key in old {
            guard let entry = forget(key) else { continue }
            if isSorted, !isSortedAgain { entries.remove(at: place(of: entry)) }
        }
        for entry in new {
            note(entry)
            if isSorted, !isSortedAgain { entries.insert(entry, at: place(of: entry)) }
        }
        if isSorted, isSortedAgain {
            entries += new
            entries.sort()
        }
    }

    /// - Returns: the children that have left.
    private mutating func trim(to limit: Int) -> Set<RealtimeKey> {
        let excess = entries.count - limit
        guard excess > 0 else { return [] }
        let left = Set((isLast ? entries.prefix(excess) : entries.suffix(excess)).map(\.key))
        if isLast { entries.removeFirst(excess) } else { entries.removeLast(excess) }
        for key in left { _ = forget(key) }
        return left
    }

    private mutating func note(_ entry: RealtimeIndexEntry) {
        let value = limit == nil ? .null : entry.value
        values[entry.key] = value
        size += Self.size(of: entry.key, value)
    }

    private mutating func forget(_ key: RealtimeKey) -> RealtimeIndexEntry? {
        guard let value = values.removeValue(forKey: key) else { return nil }
        size -= Self.size(of: key, value)
        return RealtimeIndexEntry(value: value, key: key)
    }

    /// The size of a window with some entries.
    static func size(of entries: [RealtimeIndexEntry], _ query: RealtimeQuery) -> Int {
        entries.reduce(0) { $0 + size(of: $1.key, query.limit == nil ? .null : $1.value) }
    }

    private static func size(of key: RealtimeKey, _ value: RealtimeIndexValue) -> Int {
        var bytes = key.string.utf8.count
        if case .leaf(.string(let text)) = value { bytes += text.utf8.count }
        return 1 + bytes / 128
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
