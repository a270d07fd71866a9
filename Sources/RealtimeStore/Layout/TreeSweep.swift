import StorageEngine

/// The background work on layouts: removes garbage, and moves the rows of small extents back to the tree around them.
///
/// Used on the writer's thread.
struct TreeSweep {
    /// Namespaces that may have work.
    private var unsettled: Set<String> = []
    /// Whether the last batch has failed.
    var isStuck = false

    mutating func begin(with catalog: RealtimeCatalog) {
        unsettled = Set(
            catalog.namespaces.lazy
                .filter { !$0.value.layout.garbage.isEmpty || !$0.value.layout.extents.isEmpty }.map(\.key))
    }

    mutating func look(at namespace: String) { unsettled.insert(namespace) }

    var hasWork: Bool { !unsettled.isEmpty }

    /// Does some of the work.
    mutating func step(
        _ kind: RealtimeRows, _ storage: any StorageWriter, _ catalog: RealtimeCatalog, atMost limit: Int
    ) throws {
        defer { isStuck = false }
        guard let namespace = unsettled.first, let layout = catalog.namespaces[namespace]?.layout else {
            return unsettled.removeAll()
        }
        if let garbage = layout.garbage.first {
            guard try Self.delete(garbage, atMost: limit, in: storage) else { return }
            kind.update(namespace) { record, _ in record.layout.garbage.removeAll { $0 == garbage } }
        } else if let extent = try layout.extents.first(where: { extent in
            if layout.extents.count > kind.configuration.maxExtents { return true }
            return try storage.key(.tree, extent.stored, after: kind.configuration.maxComparedRows) == nil
        }) {
            let moved = try Self.move(extent, to: layout.neighbor(of: extent), atMost: limit, in: storage)
            kind.update(namespace) { record, _ in
                record.layout.assign(moved, to: layout.neighbor(of: extent))
            }
        } else {
            unsettled.remove(namespace)
        }
    }

    /// - Returns: whether no rows are left.
    private static func delete(
        _ garbage: TreeLayout.Extent, atMost limit: Int, in storage: any StorageWriter
    ) throws -> Bool {
        var keys: [[UInt8]] = []
        try storage.scanKeys(.tree, garbage.stored, reverse: false) { key in
            keys.append(key)
            return keys.count < limit
        }
        for key in keys { try storage.delete(.tree, key) }
        return keys.count < limit
    }

    /// Moves the first rows of an extent.
    ///
    /// - Returns: the part of the range whose rows are in the other tree now.
    private static func move(
        _ extent: TreeLayout.Extent, to tree: UInt32, atMost limit: Int, in storage: any StorageWriter
    ) throws -> KeyRange {
        var rows: [(key: [UInt8], row: [UInt8])] = []
        try storage.scan(.tree, extent.stored, reverse: false) { key, row in
            rows.append((key, row))
            return rows.count < limit
        }
        let header = TreeKey.header(ofTree: tree)
        for (key, row) in rows {
            try storage.put(.tree, header + key[TreeKey.headerCount...], row)
            try storage.delete(.tree, key)
        }
        guard rows.count == limit, let last = rows.last else { return extent.range }
        return KeyRange(lower: extent.range.lower, upper: last.key[TreeKey.headerCount...] + [0])
    }
}
