import StorageEngine

/// The rows of a namespace in one state, by path, whichever trees they are in.
///
/// Paths are bytes (``TreeKey``).
struct TreeRows {
    let storage: any StorageReader
    private let stored: TreeLayout
    /// Changes that aren't stored, but are seen.
    let changes: RowChanges?
    /// Notes what is read.
    var notes: ReadNotes?

    init(storage: any StorageReader, layout: TreeLayout, changes: RowChanges? = nil) {
        self.storage = storage
        stored = layout
        self.changes = changes
    }

    /// Which tree has the rows of which paths.
    var layout: TreeLayout { changes?.layout ?? stored }

    func get(_ path: [UInt8]) throws -> [UInt8]? {
        notes?.add(path)
        if let changes {
            if let changed = changes[path] { return changed }
            if changes.hides(path) { return nil }
        }
        return try storage.get(.tree, TreeKey.stored(path, inTree: layout.tree(of: path)))
    }

    /// Visits rows by path until the body returns false.
    func scan(
        _ range: KeyRange, reverse: Bool = false, _ body: (_ path: ArraySlice<UInt8>, _ row: [UInt8]) throws -> Bool
    ) throws {
        try visit(range, reverse, keysOnly: false) { path, row in try body(path, row ?? []) }
    }

    /// Visits paths as ``scan(_:reverse:_:)`` does, without loading the rows.
    func scanPaths(_ range: KeyRange, reverse: Bool = false, _ body: (ArraySlice<UInt8>) throws -> Bool) throws {
        try visit(range, reverse, keysOnly: true) { path, _ in try body(path) }
    }

    /// The first path in a range.
    ///
    /// What the changes have removed before it is passed once, however often it is asked for.
    func firstPath(in range: KeyRange) throws -> ArraySlice<UInt8>? {
        var rest = range
        if let start = changes?.start(of: range) { rest.lower = start }
        var found: ArraySlice<UInt8>?
        try visitAll(rest, false, true) { path, _ in
            found = path
            return false
        }
        notes?.add(range, upTo: found, pathsOnly: true)
        changes?.note(found, firstIn: range)
        return found
    }

    /// The first row in a range, or the last one.
    func first(in range: KeyRange, reverse: Bool = false) throws -> (path: ArraySlice<UInt8>, row: [UInt8])? {
        var range = range
        // Stored rows before it aren't the last one, and there may be much that was removed between.
        if reverse, let last = changes?.lastRow(in: range) { range.lower = last }
        var found: (ArraySlice<UInt8>, [UInt8])?
        try scan(range, reverse: reverse) { path, row in
            found = (path, row)
            return false
        }
        return found
    }

    private func visit(
        _ range: KeyRange, _ reverse: Bool, keysOnly: Bool, _ body: (ArraySlice<UInt8>, [UInt8]?) throws -> Bool
    ) throws {
        guard let notes else { return try visitAll(range, reverse, keysOnly, body) }
        var last: ArraySlice<UInt8>?
        var isComplete = true
        try visitAll(range, reverse, keysOnly) { path, row in
            last = path
            isComplete = try body(path, row)
            return isComplete
        }
        notes.add(range, upTo: isComplete ? nil : last, reverse: reverse, pathsOnly: keysOnly)
    }

    /// Visits the stored rows and, between them, those of the changes.
    private func visitAll(
        _ range: KeyRange, _ reverse: Bool, _ keysOnly: Bool, _ body: (ArraySlice<UInt8>, [UInt8]?) throws -> Bool
    ) throws {
        guard let changes, !changes.hasNoRows else { return try visitStored(range, reverse, keysOnly, body) }
        var own = changes.cursor(in: range, reverse: reverse)
        var isStopped = false
        for part in changes.visibleParts(of: range, reverse: reverse) where !isStopped {
            try visitStored(part, reverse, keysOnly) { path, row in
                while let next = own.next {
                    let isSame = next.path[...] == path
                    guard isSame || next.path[...].lexicographicallyPrecedes(path) != reverse else { break }
                    own.advance()
                    if let changed = next.row { isStopped = try !body(next.path[...], changed) }
                    if isSame || isStopped { return !isStopped }
                }
                isStopped = try !body(path, row)
                return !isStopped
            }
        }
        while !isStopped, let next = own.next {
            own.advance()
            if let changed = next.row { isStopped = try !body(next.path[...], changed) }
        }
    }

    private func visitStored(
        _ range: KeyRange, _ reverse: Bool, _ keysOnly: Bool, _ body: (ArraySlice<UInt8>, [UInt8]?) throws -> Bool
    ) throws {
        let layout = layout
        guard !layout.extents.isEmpty else {
            // Most databases have one tree.
            if !range.isEmpty {
                _ = try visit(TreeLayout.Extent(range: range, tree: layout.tree), reverse, keysOnly, body)
            }
            return
        }
        for part in layout.parts(of: range, reverse: reverse) {
            guard try visit(part, reverse, keysOnly, body) else { return }
        }
    }

    /// Visits the rows of one tree.
    ///
    /// - Returns: whether the body wants more.
    private func visit(
        _ part: TreeLayout.Extent, _ reverse: Bool, _ keysOnly: Bool,
        _ body: (ArraySlice<UInt8>, [UInt8]?) throws -> Bool
    ) throws -> Bool {
        var goesOn = true
        if keysOnly {
            try storage.scanKeys(.tree, part.stored, reverse: reverse) { key in
                goesOn = try body(key[TreeKey.headerCount...], nil)
                return goesOn
            }
        } else {
            try storage.scan(.tree, part.stored, reverse: reverse) { key, row in
                goesOn = try body(key[TreeKey.headerCount...], row)
                return goesOn
            }
        }
        return goesOn
    }
}

extension TreeLayout.Extent {
    /// The range of the rows' keys in storage.
    var stored: KeyRange {
        let upper =
            range.upper.map { TreeKey.stored($0, inTree: tree) }
            ?? KeyBytes.successor(ofPrefix: TreeKey.header(ofTree: tree))
        return KeyRange(lower: TreeKey.stored(range.lower, inTree: tree), upper: upper)
    }
}
