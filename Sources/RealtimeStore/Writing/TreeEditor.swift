import DocumentModel
import RealtimeModel
import StorageEngine

/// Computes how changes of nodes change rows.
///
/// The changes are applied one after the other, each to the state that the ones before have left.
struct TreeEditor {
    /// The state, in which the editor's own changes are seen.
    let rows: TreeRows
    let changes: RowChanges
    let indexes: [RealtimeIndex]
    /// Notes what the result depends on; nil if it isn't checked later.
    let notes: ReadNotes?

    /// A subtree with more rows is replaced without looking at them.
    private let maxComparedRows: Int
    /// A subtree with more bytes than these and the new ones is replaced likewise: the old rows would all be held.
    private static let maxComparedBytes = 1024 * 1024

    /// - Parameter base: the state without the changes. Its reads aren't noted.
    init(on base: TreeRows, indexes: [RealtimeIndex], maxComparedRows: Int, notes: ReadNotes? = nil) {
        let changes = RowChanges()
        self.changes = changes
        rows = TreeRows(storage: base.storage, layout: base.layout, changes: changes)
        self.indexes = indexes
        self.maxComparedRows = maxComparedRows
        self.notes = notes
    }

    /// - Returns: nil if nothing differs.
    func apply(_ change: RealtimeChange) throws -> RealtimeAppliedChange? {
        if change.target.isPriority {
            return try setPriority(change.node?.leaf.flatMap { RealtimePriority($0) }, of: change)
        }
        let path = change.target.path
        let key = TreeKey.of(path)
        let above = entriesAbove(path)
        let before = try above.map { try $0.entry(in: rows) }
        let replaced =
            if let staged = change.staged { try adopt(staged, at: key) } else {
                try replace(key, by: change.node, at: path)
            }
        guard let (extent, old) = replaced else { return nil }
        var isEmptied = change.node == nil && change.staged == nil
        var top: Int?
        if !isEmptied {
            noteAncestors(of: path)
            // What had rows has no leaf above.
            if case .rows = extent {} else { top = try openLeaf(above: path, key) }
        }
        try setPriorityEntry(of: path, from: old, to: change.node?.priority ?? change.staged?.priority)
        // From the lowest object up: a node exists if it has rows, which its entries are too.
        for depth in (0..<path.depth).reversed() {
            for (entry, old) in zip(above, before) where entry.depth == depth {
                try entry.update(from: old, in: rows, changes)
            }
            guard isEmptied else { continue }
            let emptied = try removeIfEmpty(path.prefix(depth))
            isEmptied = emptied != nil
            if emptied == .withPriority { top = depth }
        }
        return RealtimeAppliedChange(change: change, extent: extent, top: top)
    }

    // MARK: A node and what is below it

    /// - Returns: which rows differ, and the priority before; nil if no rows differ.
    private func replace(
        _ key: [UInt8], by node: RealtimeNode?, at path: RealtimePath
    ) throws -> (RealtimeAppliedChange.Extent, RealtimePriority?)? {
        let range = TreeKey.subtree(key)
        if node == nil { notes?.add(range, pathsOnly: true) }
        var new = NodeRows(indexes: indexes.filter { $0.state != .dropping })
        if let node { new.add(node, at: path, key) }
        let limit = max(maxComparedRows, 4 * new.rows.count, 1)
        var bytesLeft = Self.maxComparedBytes + new.rows.reduce(0) { $0 + $1.path.count + $1.row.count }
        var old: [(path: ArraySlice<UInt8>, row: [UInt8])] = []
        var isLarge = false
        var first: StoredNode?
        try rows.scan(range) { path, row in
            isLarge = old.count == limit || bytesLeft < 0
            guard !isLarge else { return false }
            if path.count == key.count { first = try StoredNode(row, at: key) }
            old.append((path, row))
            bytesLeft -= path.count + row.count
            // Nothing is below a leaf.
            return first?.leaf == nil
        }
        let priority = first?.priority
        guard !isLarge else {
            changes.hide(range)
            for (path, row) in new.rows { changes.put(path, row, isStructural: true) }
            return (.any, priority)
        }
        if old.isEmpty {
            for (path, row) in new.rows { changes.put(path, row, isStructural: true) }
            return new.rows.isEmpty ? nil : (.created, nil)
        }
        let differing = merge(old, new.rows)
        return differing.isEmpty ? nil : (.rows(differing), priority)
    }

    /// Puts the rows of a staged value into place. The old ones aren't looked at.
    ///
    /// - Returns: as ``replace(_:by:at:)``.
    private func adopt(
        _ staged: StagedValue, at key: [UInt8]
    ) throws -> (RealtimeAppliedChange.Extent, RealtimePriority?) {
        let wanted = indexes.filter { $0.state != .dropping && $0.definition.mayCover(below: staged.path) }
        guard Set(wanted.map(\.number)) == staged.indexes else {
            throw RealtimeFailure(.unavailable, "the indexes have changed while a large value was received; retry")
        }
        let priority = try rows.get(key).map { (row) throws(DecodingFailure) in try StoredNode(row, at: key).priority }
        let extent = TreeLayout.Extent(range: TreeKey.subtree(key), tree: staged.tree)
        changes.adopt(extent, in: rows.layout)
        return (.any, priority ?? nil)
    }

    /// Makes the old rows the new ones.
    ///
    /// - Returns: the paths of the nodes whose rows differ.
    private func merge(
        _ old: [(path: ArraySlice<UInt8>, row: [UInt8])], _ new: [(path: [UInt8], row: [UInt8])]
    ) -> [[UInt8]] {
        var differing: [[UInt8]] = []
        func note(_ path: [UInt8], isEntry: Bool) { if !isEntry { differing.append(path) } }
        var (left, right) = (old[...], new[...])
        while true {
            switch (left.first, right.first) {
            case (nil, nil): return differing
            case (let a?, let b?) where a.path == b.path[...]:
                if a.row != b.row {
                    changes.put(b.path, b.row, isStructural: false)
                    note(b.path, isEntry: b.row.isEmpty)
                }
                left.removeFirst()
                right.removeFirst()
            case (let a?, let b) where b.map({ a.path.lexicographicallyPrecedes($0.path) }) ?? true:
                changes.delete(Array(a.path))
                note(Array(a.path), isEntry: a.row.isEmpty)
                left.removeFirst()
            case (_, let b?):
                changes.put(b.path, b.row, isStructural: true)
                note(b.path, isEntry: b.row.isEmpty)
                right.removeFirst()
            case (_, nil): break
            }
        }
    }

    // MARK: What is above

    /// Notes that the result depends on what is above: whether that is a leaf.
    private func noteAncestors(of path: RealtimePath) {
        guard let notes else { return }
        for depth in 0..<path.depth { notes.add(TreeKey.of(path.prefix(depth))) }
    }

    /// Makes a leaf above a new node an object, which keeps its priority.
    ///
    /// - Returns: the leaf's depth; nil if there was none.
    private func openLeaf(above path: RealtimePath, _ key: [UInt8]) throws -> Int? {
        guard !path.isRoot else { return nil }
        // There is nothing else below a leaf: if one is above, it is the last row before.
        guard let last = try rows.first(in: KeyRange(lower: [], upper: key), reverse: true), key.starts(with: last.path)
        else { return nil }
        let ancestor = Array(last.path)
        let node = try StoredNode(last.row, at: ancestor)
        guard node.leaf != nil else { return nil }
        if let priority = node.priority {
            let object = StoredNode(leaf: nil, priority: priority)
            changes.put(ancestor, object.encoded(at: ancestor), isStructural: false)
        } else {
            changes.delete(ancestor)
        }
        return (0..<path.depth).first { TreeKey.of(path.prefix($0)).count == ancestor.count }
    }

    private enum Emptied { case withPriority, withoutPriority }

    /// Removes an object that has no children any more.
    ///
    /// - Returns: nil if it has children.
    private func removeIfEmpty(_ path: RealtimePath) throws -> Emptied? {
        let key = TreeKey.of(path)
        let children = TreeKey.children(of: key)
        notes?.add(children, pathsOnly: true)
        guard try rows.firstPath(in: children) == nil else { return nil }
        guard let row = try rows.get(key) else { return .withoutPriority }
        let priority = try StoredNode(row, at: key).priority
        changes.delete(key)
        try setPriorityEntry(of: path, from: priority, to: nil)
        return .withPriority
    }

    // MARK: Priorities

    private func setPriority(
        _ priority: RealtimePriority?, of change: RealtimeChange
    ) throws -> RealtimeAppliedChange? {
        let path = change.target.path
        let key = TreeKey.of(path)
        notes?.add(key)
        notes?.add(TreeKey.subtree(key), pathsOnly: true)
        let row = try rows.get(key)
        let old = try row.map { (row) throws(DecodingFailure) in try StoredNode(row, at: key) }
        if old == nil, try rows.firstPath(in: TreeKey.subtree(key)) == nil { return nil }
        guard old?.priority != priority else { return nil }
        let new = StoredNode(leaf: old?.leaf, priority: priority)
        if new.leaf == nil, priority == nil {
            changes.delete(key)
        } else {
            changes.put(key, new.encoded(at: key), isStructural: old == nil)
        }
        try setPriorityEntry(of: path, from: old?.priority, to: priority)
        return RealtimeAppliedChange(change: change, extent: .rows([key]))
    }

    private func setPriorityEntry(
        of path: RealtimePath, from old: RealtimePriority?, to new: RealtimePriority?
    ) throws {
        guard old != new, let key = path.keys.last else { return }
        let prefix = IndexEntryKey.prefix(of: TreeKey.of(path.prefix(path.depth - 1)), index: IndexEntryKey.priorities)
        func entry(_ priority: RealtimePriority) -> [UInt8] {
            IndexEntryKey.of(RealtimeIndexEntry(value: .leaf(priority.leaf), key: key), in: prefix)
        }
        if let old { changes.delete(entry(old)) }
        if let new { changes.put(entry(new), [], isStructural: true) }
    }

    /// The entries, in indexes of nodes above, that a change may concern.
    private func entriesAbove(_ path: RealtimePath) -> [ChangedEntry] {
        indexes.compactMap { index in
            let depth = index.definition.parents.count
            guard depth < path.depth, index.definition.matches(path.keys) else { return nil }
            return ChangedEntry(
                depth: depth, parent: TreeKey.of(path.prefix(depth)), key: path.keys[depth], index: index)
        }
    }
}

/// A child's entry in an index, which a change may change.
private struct ChangedEntry {
    let depth: Int
    let parent: [UInt8]
    let key: RealtimeKey
    let index: RealtimeIndex

    func entry(in rows: TreeRows) throws -> RealtimeIndexEntry? {
        let state = RealtimeSnapshot(rows, indexes: [], limits: RealtimeReadLimits(), version: 0)
        return try state.entry(of: key, at: parent, by: index.definition.index)
    }

    func update(from old: RealtimeIndexEntry?, in rows: TreeRows, _ changes: RowChanges) throws {
        let new = try entry(in: rows)
        guard new != old else { return }
        let prefix = IndexEntryKey.prefix(of: parent, index: index.number)
        if let old { changes.delete(IndexEntryKey.of(old, in: prefix)) }
        // An index that is being removed loses entries and gets none: those of a node without children would stay.
        guard let new, index.state != .dropping else { return }
        changes.put(IndexEntryKey.of(new, in: prefix), [], isStructural: true)
    }
}

extension RealtimePath {
    /// The first keys.
    func prefix(_ depth: Int) -> RealtimePath {
        depth == self.depth ? self : RealtimePath(unchecked: Array(keys.prefix(depth)))
    }
}
