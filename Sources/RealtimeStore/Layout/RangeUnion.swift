import StorageEngine

/// All keys that are in at least one of several ranges.
struct RangeUnion {
    /// In their order; they neither overlap nor touch.
    private var ranges: [KeyRange] = []

    init(_ parts: some Sequence<KeyRange>) {
        let sorted = parts.filter { !$0.isEmpty }.sorted { $0.lower.lexicographicallyPrecedes($1.lower) }
        for range in sorted {
            guard let last = ranges.last, let end = last.upper else {
                if ranges.isEmpty { ranges.append(range) }
                // A range without an upper bound has all that follow.
                continue
            }
            if end.lexicographicallyPrecedes(range.lower) {
                ranges.append(range)
            } else if range.upper.map({ end.lexicographicallyPrecedes($0) }) ?? true {
                ranges[ranges.count - 1].upper = range.upper
            }
        }
    }

    func contains(_ key: [UInt8]) -> Bool { range(endingAfter: key).map { $0.contains(key) } ?? false }

    func intersects(_ range: KeyRange) -> Bool {
        self.range(endingAfter: range.lower).map { $0.intersection(range) != nil } ?? false
    }

    /// The first range that has the key, or keys after it.
    private func range(endingAfter key: [UInt8]) -> KeyRange? {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upper.map({ key.lexicographicallyPrecedes($0) }) ?? true {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return low < ranges.count ? ranges[low] : nil
    }
}
