import DocumentModel
import StorageEngine

/// Where the rows of a namespace are: which numbered tree has the rows of which paths.
///
/// Most namespaces have one tree. When a large subtree is deleted or replaced, its range gets a new tree, which takes
/// one row to note. The old rows are then garbage, which is removed in the background, and a small extent is moved
/// back.
struct TreeLayout: Hashable, Sendable {
    /// Paths whose rows are in another tree than the others'.
    struct Extent: Hashable, Sendable {
        /// Paths as bytes (``TreeKey``).
        var range: KeyRange
        var tree: UInt32
    }

    /// The tree of all that is in no extent.
    var tree: UInt32
    /// In their order; they don't overlap.
    private(set) var extents: [Extent] = []
    /// Rows that aren't part of the namespace any more.
    var garbage: [Extent] = []

    init(tree: UInt32) { self.tree = tree }

    func tree(of path: some Collection<UInt8>) -> UInt32 {
        let index = index(after: path)
        return index < extents.count && extents[index].range.contains(path) ? extents[index].tree : tree
    }

    /// The index of the first extent that ends after a path. A commit may make very many extents, and each row is
    /// looked for among them.
    private func index(after path: some Collection<UInt8>) -> Int {
        firstIndex { extent in extent.range.upper.map { !path.lexicographicallyPrecedes($0) } ?? false }
    }

    /// The indices of the extents that have paths of a range.
    private func indices(of range: KeyRange) -> Range<Int> {
        let first = index(after: range.lower)
        guard let upper = range.upper else { return first..<extents.count }
        return first..<max(first, firstIndex { $0.range.lower.lexicographicallyPrecedes(upper) })
    }

    /// The first index for which `isBefore` is false, given that it is true for all below that.
    private func firstIndex(_ isBefore: (Extent) -> Bool) -> Int {
        var (low, high) = (0, extents.count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(extents[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The parts of a range, each within one tree.
    struct Parts: Sequence, IteratorProtocol {
        fileprivate let tree: UInt32
        /// Those that have paths of the rest.
        fileprivate var extents: ArraySlice<Extent>
        /// Nil once all parts were given.
        fileprivate var rest: KeyRange?
        fileprivate let reverse: Bool

        mutating func next() -> Extent? {
            while let range = rest {
                guard let extent = reverse ? extents.last : extents.first else {
                    rest = nil
                    return range.isEmpty ? nil : Extent(range: range, tree: tree)
                }
                guard let common = extent.range.intersection(range) else {
                    removeExtent()
                    continue
                }
                let before = KeyRange(lower: range.lower, upper: common.lower)
                let after = common.upper.map { KeyRange(lower: $0, upper: range.upper) }
                if let gap = reverse ? after : before, !gap.isEmpty {
                    if reverse { rest?.upper = common.upper } else { rest?.lower = common.lower }
                    return Extent(range: gap, tree: tree)
                }
                removeExtent()
                rest = reverse ? before : after
                return Extent(range: common, tree: extent.tree)
            }
            return nil
        }

        private mutating func removeExtent() { if reverse { extents.removeLast() } else { extents.removeFirst() } }
    }

    /// The parts of a range, each within one tree, in their order or from the last to the first.
    func parts(of range: KeyRange, reverse: Bool = false) -> Parts {
        Parts(tree: tree, extents: extents[indices(of: range)], rest: range, reverse: reverse)
    }

    /// Gives a range an empty tree. What the range had is garbage then.
    mutating func replace(_ range: KeyRange, with new: UInt32) {
        garbage += parts(of: range)
        if range == .all {
            tree = new
            extents = []
        } else {
            assign(range, to: new)
        }
    }

    /// Gives a range to a tree that has its rows and was garbage so far. What the range had is garbage then.
    mutating func adopt(_ extent: Extent) {
        garbage.removeAll { $0.tree == extent.tree }
        replace(extent.range, with: extent.tree)
    }

    /// Gives a range to a tree, which has its rows.
    mutating func assign(_ range: KeyRange, to new: UInt32) {
        guard !range.isEmpty else { return }
        let changed = indices(of: range)
        var result: [Extent] = []
        func append(_ part: KeyRange, _ tree: UInt32) {
            if !part.isEmpty { result.append(Extent(range: part, tree: tree)) }
        }
        for extent in extents[changed] {
            append(KeyRange(lower: extent.range.lower, upper: range.lower), extent.tree)
        }
        if new != tree { append(range, new) }
        if let upper = range.upper {
            for extent in extents[changed] { append(KeyRange(lower: upper, upper: extent.range.upper), extent.tree) }
        }
        // Those beside them may go on in them.
        let around = max(changed.lowerBound - 1, 0)..<min(changed.upperBound + 1, extents.count)
        var joined = Array(extents[around.lowerBound..<changed.lowerBound])
        for extent in result + extents[changed.upperBound..<around.upperBound] {
            if let last = joined.last, last.tree == extent.tree, last.range.upper == extent.range.lower {
                joined[joined.count - 1].range.upper = extent.range.upper
            } else {
                joined.append(extent)
            }
        }
        extents.replaceSubrange(around, with: joined)
    }

    /// The tree that an extent's rows are moved to: that of the paths before it.
    func neighbor(of extent: Extent) -> UInt32 {
        extents.last { $0.range.upper == extent.range.lower }?.tree ?? tree
    }

    /// All trees that have rows of the namespace, or garbage.
    var trees: Set<UInt32> { Set([tree] + extents.map(\.tree) + garbage.map(\.tree)) }
}

extension TreeLayout {
    init(from reader: inout ByteReader) throws(DecodingFailure) {
        tree = try Self.tree(from: &reader)
        extents = try Self.list(from: &reader)
        garbage = try Self.list(from: &reader)
        for (a, b) in zip(extents, extents.dropFirst()) {
            guard let upper = a.range.upper, !b.range.lower.lexicographicallyPrecedes(upper) else {
                throw DecodingFailure("parts of a namespace overlap")
            }
        }
    }

    func write(to writer: inout ByteWriter) {
        writer.write(varint: UInt64(tree))
        for list in [extents, garbage] {
            writer.write(list) { writer, extent in
                writer.write(varint: UInt64(extent.tree))
                writer.write(blob: extent.range.lower)
                writer.write(optional: extent.range.upper) { $0.write(blob: $1) }
            }
        }
    }

    private static func list(from reader: inout ByteReader) throws(DecodingFailure) -> [Extent] {
        try reader.list { reader throws(DecodingFailure) in
            let tree = try Self.tree(from: &reader)
            let lower = try reader.blob()
            let upper = try reader.optional { reader throws(DecodingFailure) in try reader.blob() }
            return Extent(range: KeyRange(lower: lower, upper: upper), tree: tree)
        }
    }

    private static func tree(from reader: inout ByteReader) throws(DecodingFailure) -> UInt32 {
        guard let tree = UInt32(exactly: try reader.varint()) else {
            throw DecodingFailure("the number of a tree is too large")
        }
        return tree
    }
}

extension KeyRange {
    func contains(_ key: some Collection<UInt8>) -> Bool {
        !key.lexicographicallyPrecedes(lower) && (upper.map { key.lexicographicallyPrecedes($0) } ?? true)
    }

    /// What both have in common; nil if that is nothing.
    func intersection(_ other: KeyRange) -> KeyRange? {
        var common = self
        if lower.lexicographicallyPrecedes(other.lower) { common.lower = other.lower }
        if let end = other.upper, upper.map({ end.lexicographicallyPrecedes($0) }) ?? true { common.upper = end }
        return common.isEmpty ? nil : common
    }
}
