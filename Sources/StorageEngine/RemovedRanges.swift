/// The ranges of one table's stored rows that a batch removes.
struct RemovedRanges {
    /// In their order; they neither overlap nor touch.
    private(set) var ranges: [KeyRange] = []

    var isEmpty: Bool { ranges.isEmpty }

    mutating func insert(_ range: KeyRange) {
        guard !range.isEmpty else { return }
        var merged = range
        var others: [KeyRange] = []
        for other in ranges {
            if Self.isBefore(other, merged) || Self.isBefore(merged, other) {
                others.append(other)
            } else {
                merged = Self.union(other, merged)
            }
        }
        let place = others.firstIndex { merged.lower.lexicographicallyPrecedes($0.lower) } ?? others.endIndex
        others.insert(merged, at: place)
        ranges = others
    }

    func contains(_ key: [UInt8]) -> Bool {
        ranges.contains { range in
            !key.lexicographicallyPrecedes(range.lower)
                && (range.upper.map { key.lexicographicallyPrecedes($0) } ?? true)
        }
    }

    /// The parts of a range that stay, in their order.
    func kept(of range: KeyRange) -> [KeyRange] {
        var parts: [KeyRange] = []
        var rest = range
        for removed in ranges {
            if let upper = removed.upper, !rest.lower.lexicographicallyPrecedes(upper) { continue }
            if let end = rest.upper, !removed.lower.lexicographicallyPrecedes(end) { break }
            if rest.lower.lexicographicallyPrecedes(removed.lower) {
                parts.append(KeyRange(lower: rest.lower, upper: removed.lower))
            }
            guard let upper = removed.upper else { return parts }
            rest.lower = upper
        }
        if !rest.isEmpty { parts.append(rest) }
        return parts
    }

    /// Whether a range ends before another begins, with keys between them.
    private static func isBefore(_ range: KeyRange, _ other: KeyRange) -> Bool {
        range.upper.map { $0.lexicographicallyPrecedes(other.lower) } ?? false
    }

    /// - Parameter b: overlaps or touches the other.
    private static func union(_ a: KeyRange, _ b: KeyRange) -> KeyRange {
        let lower = a.lower.lexicographicallyPrecedes(b.lower) ? a.lower : b.lower
        guard let end = a.upper, let other = b.upper else { return KeyRange(lower: lower, upper: nil) }
        return KeyRange(lower: lower, upper: end.lexicographicallyPrecedes(other) ? other : end)
    }
}
