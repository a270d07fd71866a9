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
        guard !extents.isEmpty else { return tree }
        return extents.first { $0.range.contains(path) }?.tree ?? tree
    }

    /// The parts of a range, in their order, each within one tree.
    func parts(of range: KeyRange) -> [Extent] {
        guard !extents.isEmpty else { return range.isEmpty ? [] : [Extent(range: range, tree: tree)] }
        var parts: [Extent] = []
        var lower = range.lower
        for extent in extents {
            guard let common = extent.range.intersection(range) else { continue }
            let before = KeyRange(lower: lower, upper: common.lower)
            if !before.isEmpty { parts.append(Extent(range: before, tree: tree)) }
            parts.append(Extent(range: common, tree: extent.tree))
            guard let upper = common.upper else { return parts }
            lower = upper
        }
        let rest = KeyRange(lower: lower, upper: range.upper)
        if !rest.isEmpty { parts.append(Extent(range: rest, tree: tree)) }
        return parts
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
        var result: [Extent] = []
        for extent in extents {
            guard extent.range.intersection(range) != nil else {
                result.append(extent)
                continue
            }
            let before = KeyRange(lower: extent.range.lower, upper: range.lower)
            if !before.isEmpty { result.append(Extent(range: before, tree: extent.tree)) }
            if let upper = range.upper {
                let after = KeyRange(lower: upper, upper: extent.range.upper)
                if !after.isEmpty { result.append(Extent(range: after, tree: extent.tree)) }
            }
        }
        if new != tree { result.append(Extent(range: range, tree: new)) }
        result.sort { $0.range.lower.lexicographicallyPrecedes($1.range.lower) }
        extents = []
        for extent in result {
            if let last = extents.last, last.tree == extent.tree, last.range.upper == extent.range.lower {
                extents[extents.count - 1].range.upper = extent.range.upper
            } else {
                extents.append(extent)
            }
        }
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
