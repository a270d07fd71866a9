import StorageEngine

/// Changes of a namespace's rows before they are stored.
final class RowChanges {
    struct Change {
        /// The path in bytes (``TreeKey``).
        var path: [UInt8]
        /// Nil removes the row.
        var row: [UInt8]?
        /// Whether the change adds or removes the row, rather than replace it.
        var isStructural: Bool
    }

    /// In the order of the paths.
    private(set) var all: [Change] = []
    /// Ranges whose stored rows aren't seen any more.
    private(set) var hidden: [KeyRange] = []

    var isEmpty: Bool { all.isEmpty && hidden.isEmpty }

    /// The approximate size in bytes.
    private(set) var bytes = 0

    /// - Parameter isStructural: whether there is no such row yet.
    func put(_ path: [UInt8], _ row: [UInt8], isStructural: Bool) {
        set(Change(path: path, row: row, isStructural: isStructural))
    }

    /// Removes a row that exists.
    func delete(_ path: [UInt8]) { set(Change(path: path, row: nil, isStructural: true)) }

    /// Removes all rows of a subtree without looking at them.
    func hide(_ range: KeyRange) {
        all.removeSubrange(places(in: range))
        hidden.removeAll { range.intersection($0) == $0 }
        hidden.append(range)
    }

    /// - Returns: the changed row, or nil in it if the row was removed; nil if the row isn't changed.
    subscript(path: [UInt8]) -> [UInt8]?? {
        let place = place(of: path)
        return place < all.count && all[place].path == path ? .some(all[place].row) : nil
    }

    func hides(_ path: [UInt8]) -> Bool { hidden.contains { $0.contains(path) } }

    private func set(_ change: Change) {
        var change = change
        bytes += change.path.count + (change.row?.count ?? 0) + 64
        let place = place(of: change.path)
        guard place < all.count, all[place].path == change.path else { return all.insert(change, at: place) }
        change.isStructural = change.isStructural || all[place].isStructural
        all[place] = change
    }

    /// The position of the first change that isn't before a path.
    private func place(of path: [UInt8]) -> Int {
        // Most changes come in their order.
        guard let last = all.last, !last.path.lexicographicallyPrecedes(path) else { return all.count }
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].path.lexicographicallyPrecedes(path) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func places(in range: KeyRange) -> Range<Int> {
        let first = place(of: range.lower)
        return first..<max(first, range.upper.map { place(of: $0) } ?? all.count)
    }
}

extension RowChanges {
    /// The changes of a range, one after the other.
    struct Cursor {
        fileprivate let changes: RowChanges
        fileprivate var places: Range<Int>
        fileprivate let reverse: Bool

        var next: Change? {
            places.isEmpty ? nil : changes.all[reverse ? places.upperBound - 1 : places.lowerBound]
        }

        mutating func advance() { places = reverse ? places.dropLast() : places.dropFirst() }
    }

    func cursor(in range: KeyRange, reverse: Bool) -> Cursor {
        Cursor(changes: self, places: range.isEmpty ? 0..<0 : places(in: range), reverse: reverse)
    }

    /// The parts of a range whose stored rows are seen, in the order of a scan.
    func visibleParts(of range: KeyRange, reverse: Bool) -> [KeyRange] {
        var parts = [range]
        for hidden in hidden {
            parts = parts.flatMap { part -> [KeyRange] in
                guard let common = part.intersection(hidden) else { return [part] }
                var rest = [KeyRange(lower: part.lower, upper: common.lower)]
                if let upper = common.upper { rest.append(KeyRange(lower: upper, upper: part.upper)) }
                return rest
            }
        }
        parts.removeAll { $0.isEmpty }
        return reverse ? parts.reversed() : parts
    }
}
