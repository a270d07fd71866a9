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

    /// Where a change is, or would be inserted.
    fileprivate struct Place: Comparable {
        var chunk: Int
        var index: Int

        static func < (a: Place, b: Place) -> Bool { a.chunk == b.chunk ? a.index < b.index : a.chunk < b.chunk }
    }

    /// In the order of the paths, in chunks, so that an insertion moves few. None is empty.
    fileprivate private(set) var chunks: [[Change]] = []
    /// Ranges whose stored rows aren't seen any more, in their order. None is in another.
    private(set) var hidden: [KeyRange] = []
    /// A subtree that gets the rows of a tree of its own, which are stored already.
    private(set) var adopted: TreeLayout.Extent?
    /// The layout with the adopted tree; nil without one.
    private(set) var layout: TreeLayout?
    private(set) var count = 0
    /// The approximate size in bytes.
    private(set) var bytes = 0

    /// Before these paths, no row of the ranges is seen.
    private var starts: [KeyRange: [UInt8]] = [:]

    private static let maxChunk = 256
    /// So many changes are passed each time.
    private static let fewChanges = 16

    /// Whether nothing changes.
    var isEmpty: Bool { hasNoRows && adopted == nil }

    /// Whether the stored rows are seen as they are, in the layout.
    var hasNoRows: Bool { chunks.isEmpty && hidden.isEmpty }

    /// All changes in the order of their paths.
    var all: some Sequence<Change> { chunks.joined() }

    /// From the first change to the last; nil if there are none.
    var range: KeyRange? {
        guard let first = chunks.first?.first, let last = chunks.last?.last else { return nil }
        return KeyRange(lower: first.path, upper: last.path + [0])
    }

    /// - Parameter isStructural: whether there is no such row yet.
    func put(_ path: [UInt8], _ row: [UInt8], isStructural: Bool) {
        set(Change(path: path, row: row, isStructural: isStructural))
    }

    /// Removes a row that exists.
    func delete(_ path: [UInt8]) { set(Change(path: path, row: nil, isStructural: true)) }

    /// Removes all rows of a subtree without looking at them.
    func hide(_ range: KeyRange) {
        if cursor(in: range, reverse: false).next != nil {
            let kept = all.filter { !range.contains($0.path) }
            count = kept.count
            chunks = stride(from: 0, to: kept.count, by: Self.maxChunk).map { start in
                Array(kept[start..<min(start + Self.maxChunk, kept.count)])
            }
        }
        // Subtrees are apart, or one is in the other.
        let first = hiddenIndex(after: range.lower)
        if first < hidden.count, hidden[first].intersection(range) == range { return }
        var end = first
        while end < hidden.count, range.intersection(hidden[end]) == hidden[end] { end += 1 }
        hidden.replaceSubrange(first..<end, with: [range])
    }

    /// The index of the first hidden range that ends after a path.
    fileprivate func hiddenIndex(after path: [UInt8]) -> Int {
        Self.firstIndex(below: hidden.count) { index in
            hidden[index].upper.map { !path.lexicographicallyPrecedes($0) } ?? false
        }
    }

    /// Replaces a subtree, in which nothing was changed, by rows that are stored already.
    ///
    /// - Parameter layout: where the rows are without the changes.
    func adopt(_ extent: TreeLayout.Extent, in layout: TreeLayout) {
        adopted = extent
        starts = [:]
        var changed = layout
        changed.adopt(extent)
        self.layout = changed
    }

    /// - Returns: the changed row, or nil in it if the row was removed; nil if the row isn't changed.
    subscript(path: [UInt8]) -> [UInt8]?? {
        guard let change = change(at: place(of: path)), change.path == path else { return nil }
        return .some(change.row)
    }

    func hides(_ path: [UInt8]) -> Bool {
        let index = hiddenIndex(after: path)
        return index < hidden.count && hidden[index].contains(path)
    }

    /// Where rows are looked for that a range, a node with what is below it or without itself, may have.
    func start(of range: KeyRange) -> [UInt8]? { starts.isEmpty ? nil : starts[range] }

    /// Remembers the first path that is seen in a range; nil for none.
    func note(_ first: ArraySlice<UInt8>?, firstIn range: KeyRange) {
        guard count + hidden.count > Self.fewChanges, let start = first.map({ Array($0) }) ?? range.upper else {
            return
        }
        if starts.updateValue(start, forKey: range) == nil { bytes += 3 * start.count + 128 }
    }

    /// A row is seen.
    private func noteRow(at path: [UInt8]) {
        var end = 0
        while true {
            let ancestor = Array(path[..<end])
            for range in [TreeKey.subtree(ancestor), TreeKey.children(of: ancestor)] where range.contains(path) {
                if let start = starts[range], path.lexicographicallyPrecedes(start) { starts[range] = path }
            }
            guard let next = TreeKey.endOfKey(path[end...]) else { return }
            end = next
        }
    }

    private func set(_ change: Change) {
        if change.row != nil, !starts.isEmpty { noteRow(at: change.path) }
        bytes += change.path.count + (change.row?.count ?? 0) + 64
        let place = place(of: change.path)
        if let old = self.change(at: place), old.path == change.path {
            chunks[place.chunk][place.index] = change
            chunks[place.chunk][place.index].isStructural = change.isStructural || old.isStructural
            return
        }
        count += 1
        // What comes behind all others goes to the last chunk.
        let chunk = place.chunk == chunks.count ? chunks.count - 1 : place.chunk
        guard chunk >= 0 else { return chunks.append([change]) }
        let index = place.chunk == chunks.count ? chunks[chunk].count : place.index
        chunks[chunk].insert(change, at: index)
        guard chunks[chunk].count > Self.maxChunk else { return }
        // Changes that come in their order leave full chunks behind.
        let kept = index == chunks[chunk].count - 1 ? Self.maxChunk : Self.maxChunk / 2
        let rest = Array(chunks[chunk][kept...])
        chunks[chunk].removeSubrange(kept...)
        chunks.insert(rest, at: chunk + 1)
    }

    fileprivate func change(at place: Place) -> Change? {
        place.chunk < chunks.count ? chunks[place.chunk][place.index] : nil
    }

    /// The position of the first change that isn't before a path.
    fileprivate func place(of path: [UInt8]) -> Place {
        let chunk = Self.firstIndex(below: chunks.count) { chunk in
            chunks[chunk][chunks[chunk].count - 1].path.lexicographicallyPrecedes(path)
        }
        guard chunk < chunks.count else { return Place(chunk: chunk, index: 0) }
        let index = Self.firstIndex(below: chunks[chunk].count) { index in
            chunks[chunk][index].path.lexicographicallyPrecedes(path)
        }
        return Place(chunk: chunk, index: index)
    }

    /// The first index for which `isBefore` is false, given that it is true for all below that.
    private static func firstIndex(below count: Int, _ isBefore: (Int) -> Bool) -> Int {
        guard count > 0, isBefore(count - 1) == false else { return count }
        var (low, high) = (0, count - 1)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension RowChanges {
    /// The changes of a range, one after the other.
    struct Cursor {
        fileprivate let changes: RowChanges
        fileprivate var first: Place
        /// After the last one.
        fileprivate var end: Place
        fileprivate let reverse: Bool

        var next: Change? {
            guard first < end else { return nil }
            return changes.change(at: reverse ? changes.before(end) : first)
        }

        mutating func advance() { if reverse { end = changes.before(end) } else { first = changes.after(first) } }
    }

    func cursor(in range: KeyRange, reverse: Bool) -> Cursor {
        let first = place(of: range.lower)
        let end = range.isEmpty ? first : range.upper.map { place(of: $0) } ?? Place(chunk: chunks.count, index: 0)
        return Cursor(changes: self, first: first, end: end, reverse: reverse)
    }

    fileprivate func after(_ place: Place) -> Place {
        place.index + 1 < chunks[place.chunk].count
            ? Place(chunk: place.chunk, index: place.index + 1) : Place(chunk: place.chunk + 1, index: 0)
    }

    fileprivate func before(_ place: Place) -> Place {
        place.index > 0
            ? Place(chunk: place.chunk, index: place.index - 1)
            : Place(chunk: place.chunk - 1, index: chunks[place.chunk - 1].count - 1)
    }

    /// The parts of a range whose stored rows are seen, in the order of a scan.
    struct VisibleParts: Sequence, IteratorProtocol {
        /// Its hidden ranges.
        fileprivate var hidden: ArraySlice<KeyRange>
        /// Nil once all parts were given.
        fileprivate var rest: KeyRange?
        fileprivate let reverse: Bool

        mutating func next() -> KeyRange? {
            while let part = rest {
                guard let gap = reverse ? hidden.popLast() : hidden.popFirst() else {
                    rest = nil
                    return part.isEmpty ? nil : part
                }
                let before = KeyRange(lower: part.lower, upper: gap.lower)
                let after = gap.upper.map { KeyRange(lower: $0, upper: part.upper) }
                rest = reverse ? before : after
                if let found = reverse ? after : before, !found.isEmpty { return found }
            }
            return nil
        }
    }

    func visibleParts(of range: KeyRange, reverse: Bool) -> VisibleParts {
        let first = hiddenIndex(after: range.lower)
        let end =
            range.upper.map { upper in
                Self.firstIndex(below: hidden.count) { hidden[$0].lower.lexicographicallyPrecedes(upper) }
            } ?? hidden.count
        return VisibleParts(hidden: hidden[min(first, end)..<end], rest: range.isEmpty ? nil : range, reverse: reverse)
    }

    /// The last changed row in a range, unless many were removed after it.
    func lastRow(in range: KeyRange) -> [UInt8]? {
        var changes = cursor(in: range, reverse: true)
        for _ in 0..<Self.fewChanges {
            guard let change = changes.next else { return nil }
            if change.row != nil { return change.path }
            changes.advance()
        }
        return nil
    }
}
