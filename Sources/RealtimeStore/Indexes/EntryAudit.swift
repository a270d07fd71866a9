import DocumentModel
import RealtimeModel
import StorageEngine

/// Compares the entries of a namespace's indexes with the nodes that they order.
struct EntryAudit {
    private let rows: TreeRows
    private let indexes: [RealtimeIndex]
    private let state: RealtimeSnapshot

    init(_ rows: TreeRows, _ indexes: [RealtimeIndex]) {
        self.rows = rows
        self.indexes = indexes
        state = RealtimeSnapshot(rows, indexes: [], limits: RealtimeReadLimits(), version: 0)
    }

    /// - Parameters:
    ///   - bytes: the entry's path.
    ///   - parent: the path of the node whose children it orders.
    /// - Returns: what is wrong with it; nil if it is right.
    /// - Throws: `DecodingFailure` if the child is damaged.
    func problem(of bytes: ArraySlice<UInt8>, at parent: [UInt8]) throws -> String? {
        let count = IndexEntryKey.prefix(of: parent, index: 0).count
        guard bytes.count > count else { return "an entry of an index is too short" }
        let number = bytes.dropFirst(parent.count + 1).prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let key: RealtimeKey
        do throws(DecodingFailure) { key = try IndexEntryKey.read(bytes.dropFirst(count)).key } catch {
            return "an entry of an index can't be read: \(error.reason)"
        }
        let order: RealtimeQuery.Index
        if number == IndexEntryKey.priorities {
            order = .priority
        } else {
            guard let index = indexes.first(where: { $0.number == number }) else {
                return "an entry belongs to no index"
            }
            order = index.definition.index
        }
        guard let entry = try state.entry(of: key, at: parent, by: order) else {
            return "an entry of an index leads to a child that doesn't exist"
        }
        let expected = IndexEntryKey.of(entry, in: Array(bytes.prefix(count)))
        guard expected[...] == bytes, order != .priority || entry.value != .null else {
            return "an entry of an index differs from its child"
        }
        return nil
    }

    /// The entries that are missing of a node with a row: that of its priority, and those of the children that begin with
    /// the row.
    ///
    /// - Parameter previous: the node of the row before; the root if that is unknown.
    /// - Throws: `DecodingFailure` if a node is damaged.
    func missing(
        of path: RealtimePath, _ priority: RealtimePriority?, after previous: RealtimePath
    ) throws -> [(entry: [UInt8], problem: String)] {
        var missing: [(entry: [UInt8], problem: String)] = []
        func require(_ entry: RealtimeIndexEntry, of parent: [UInt8], _ number: UInt32, _ problem: String) throws {
            let entry = IndexEntryKey.of(entry, in: IndexEntryKey.prefix(of: parent, index: number))
            if try rows.get(entry) == nil { missing.append((entry, problem)) }
        }
        if let priority, let key = path.keys.last {
            try require(
                RealtimeIndexEntry(value: .leaf(priority.leaf), key: key),
                of: TreeKey.of(path.prefix(path.depth - 1)), IndexEntryKey.priorities,
                "\(path) isn't found by its priority")
        }
        for index in indexes where index.state == .ready {
            let depth = index.definition.parents.count
            guard path.depth > depth, index.definition.matches(path.keys),
                // The first row at or below a child.
                previous.depth <= depth || !previous.keys.prefix(depth + 1).elementsEqual(path.keys.prefix(depth + 1))
            else { continue }
            let parent = TreeKey.of(path.prefix(depth))
            guard let entry = try state.entry(of: path.keys[depth], at: parent, by: index.definition.index) else {
                continue
            }
            try require(
                entry, of: parent, index.number,
                "\(path.prefix(depth + 1)) has no entry in the index on \(index.definition.index.name)")
        }
        return missing
    }
}
