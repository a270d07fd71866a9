import StorageEngine

/// The background work on namespaces, some in each batch: removes garbage, moves the rows of small extents back to
/// the tree around them (see ``TreeLayout``), and builds and removes indexes. What is left goes on when the store is
/// next opened.
///
/// Used on the writer's thread.
struct BackgroundWork {
    /// The bytes after which a batch moves no more rows, which it holds.
    static let maxMovedBytes = 1024 * 1024

    /// Namespaces that may have work.
    private var unsettled: Set<String> = []
    /// The one whose next large value waits.
    private var preferred: String?
    /// Trees whose rows are garbage unless a write puts them into place, and that it still may (`StagedValue`).
    private var held: [UInt32: StagedHold] = [:]
    /// Whether the last batch has failed.
    var isStuck = false

    mutating func begin(with catalog: RealtimeCatalog) {
        unsettled = Set(catalog.namespaces.lazy.filter { !$0.value.isSettled }.map(\.key))
    }

    mutating func look(at namespace: String) { unsettled.insert(namespace) }

    /// Keeps the rows of a tree although they are garbage, until the hold is released.
    mutating func hold(_ tree: UInt32, by hold: StagedHold) { held[tree] = hold }

    func holds(_ tree: UInt32) -> Bool { held[tree]?.isReleased == false }

    mutating func release(_ tree: UInt32, of namespace: String) {
        held[tree] = nil
        look(at: namespace)
    }

    /// Called after a rollback: the numbers of trees that were rolled back are used again.
    mutating func forgetTrees(from next: UInt32) { held = held.filter { $0.key < next } }

    var isDone: Bool { unsettled.isEmpty }

    /// The garbage of the namespace whose turn it is, and its extents beyond those that it may have.
    func backlog(in catalog: RealtimeCatalog, maxExtents: Int) -> Int {
        guard let layout = next.flatMap({ catalog.namespaces[$0]?.layout }) else { return 0 }
        return layout.garbage.count + max(layout.extents.count - maxExtents, 0)
    }

    mutating func prefer(_ namespace: String?) { preferred = namespace }

    private var next: String? { preferred.flatMap { unsettled.contains($0) ? $0 : nil } ?? unsettled.first }

    /// How long the writer may wait for other work; nil for any time.
    var pause: Duration? { isDone ? nil : isStuck ? .seconds(1) : .zero }

    /// Does some of the work.
    ///
    /// - Parameters:
    ///   - limit: the rows that it removes or moves.
    ///   - maxBytes: those after which it moves no more.
    mutating func step(_ kind: RealtimeRows, _ storage: any StorageWriter, atMost limit: Int, bytes maxBytes: Int)
        throws
    {
        isStuck = false
        guard let namespace = next else { return }
        guard let record = try? kind.record(of: namespace) else {
            unsettled.remove(namespace)
            return
        }
        let layout = record.layout
        if let garbage = layout.garbage.first(where: { !holds($0.tree) }) {
            guard try storage.removeRange(.tree, garbage.stored, atMost: limit) else { return }
            kind.update(namespace) { record, _ in record.layout.garbage.removeAll { $0 == garbage } }
        } else if let extent = try movable(of: layout, kind.configuration, storage) {
            let tree = layout.neighbor(of: extent)
            let moved = try Self.move(extent, to: tree, atMost: limit, bytes: maxBytes, in: storage)
            kind.update(namespace) { record, _ in record.layout.assign(moved, to: tree) }
        } else if let index = record.indexes.first(where: { $0.state != .ready }) {
            let pass = IndexPass(namespace, record.layout, index, storage)
            guard try pass.advance(atMost: limit) else { return }
            kind.update(namespace) {
                $0.finish(index.number); _ = $1
            }
        } else {
            unsettled.remove(namespace)
        }
    }

    /// An extent that is small, or one of too many.
    private func movable(
        of layout: TreeLayout, _ configuration: RealtimeStoreConfiguration, _ storage: any StorageReader
    ) throws -> TreeLayout.Extent? {
        if layout.extents.count > configuration.maxExtents { return layout.extents.first }
        return try layout.extents.first { extent in
            try storage.key(.tree, extent.stored, after: configuration.maxComparedRows) == nil
        }
    }

    /// Moves the first rows of an extent.
    ///
    /// - Returns: the part of the range whose rows are in the other tree now.
    private static func move(
        _ extent: TreeLayout.Extent, to tree: UInt32, atMost limit: Int, bytes maxBytes: Int,
        in storage: any StorageWriter
    ) throws -> KeyRange {
        var rows: [(key: [UInt8], row: [UInt8])] = []
        var bytes = 0
        var isComplete = true
        try storage.scan(.tree, extent.stored, reverse: false) { key, row in
            rows.append((key, row))
            bytes += key.count + row.count
            isComplete = rows.count < limit && bytes < maxBytes
            return isComplete
        }
        let header = TreeKey.header(ofTree: tree)
        for (key, row) in rows {
            try storage.put(.tree, header + key[TreeKey.headerCount...], row)
            try storage.delete(.tree, key)
        }
        guard !isComplete, let last = rows.last else { return extent.range }
        return KeyRange(lower: extent.range.lower, upper: last.key[TreeKey.headerCount...] + [0])
    }
}
