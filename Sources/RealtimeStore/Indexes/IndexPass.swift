import DocumentModel
import RealtimeModel
import StorageEngine

/// Builds or removes the entries of an index, some in each batch, from the first node to the last.
///
/// How far it has come is stored with the entries, so that it goes on when the store is next opened. Commits maintain
/// the index meanwhile: an entry that both write is the same.
struct IndexPass {
    private let index: RealtimeIndex
    private let storage: any StorageWriter
    private let layout: TreeLayout
    private let state: RealtimeSnapshot
    private let key: [UInt8]
    /// The node at and below which nodes are looked at.
    private let root: RealtimePath

    init(
        _ namespace: String, _ layout: TreeLayout, _ index: RealtimeIndex, below root: RealtimePath = .root,
        _ storage: any StorageWriter
    ) {
        self.index = index
        self.storage = storage
        self.layout = layout
        self.root = root
        state = RealtimeSnapshot(
            TreeRows(storage: storage, layout: layout), indexes: [], limits: RealtimeReadLimits(), version: 0)
        var key = RowKind.indexPass.key(namespace)
        KeyBytes.append(UInt64(index.number), to: &key)
        self.key = key
    }

    /// - Parameter limit: the rows that are written or looked at.
    /// - Returns: whether the pass has ended.
    func advance(atMost limit: Int) throws -> Bool {
        // A damaged note is ignored: the pass starts again and writes the same entries.
        let note = try storage.get(.tree, key).flatMap { row in
            try? SealedRow.open(row, at: key, "the note of how far an index is built")
        }
        // The removal of an index that was still being built starts at the beginning.
        let position = note?.first == index.state.rawValue ? note.map { Array($0.dropFirst()) } : nil
        let next = index.state == .building ? try build(after: position, limit) : try remove(from: position, limit)
        guard let next else {
            try storage.delete(.tree, key)
            return true
        }
        try storage.put(.tree, key, SealedRow.seal([index.state.rawValue] + next, at: key))
        return false
    }

    // MARK: Entries

    /// - Parameter position: the path of the last child that has its entry.
    /// - Returns: the path of the last child that has its entry now; nil if all have.
    func build(after position: [UInt8]?, _ limit: Int) throws -> [UInt8]? {
        var children: [(parent: [UInt8], key: RealtimeKey)] = []
        var looked = 0
        var last: [UInt8] = []
        let lower = position.flatMap { KeyBytes.successor(ofPrefix: $0) } ?? []
        _ = try eachParent(from: lower) { parent in
            try state.eachChild(of: parent, in: TreeKey.children(of: parent).from(lower)) { child in
                children.append((parent, child.key))
                last = Array(child.path)
                return children.count < limit
            }
            return children.count < limit
        } passed: { path in
            looked += 1
            if looked == limit { last = Array(path) }
            return looked < limit
        }
        for (parent, key) in children {
            let found: RealtimeIndexEntry?
            do { found = try state.entry(of: key, at: parent, by: index.definition.index) } catch is DecodingFailure {
                // What entry a damaged node should have is unknown. The check of the store reports the node.
                continue
            }
            guard let entry = found else { continue }
            let path = IndexEntryKey.of(entry, in: IndexEntryKey.prefix(of: parent, index: index.number))
            try storage.put(.tree, TreeKey.stored(path, inTree: layout.tree(of: path)), [])
        }
        return children.count < limit && looked < limit ? nil : last
    }

    /// - Parameter position: the path to begin with: none before it has entries.
    /// - Returns: the path to go on with; nil once no entries are left.
    private func remove(from position: [UInt8]?, _ limit: Int) throws -> [UInt8]? {
        var entries: [[UInt8]] = []
        var next: [UInt8]?
        var looked = 0
        _ = try eachParent(from: position ?? []) { parent in
            try state.rows.scanPaths(KeyRange(prefix: IndexEntryKey.prefix(of: parent, index: index.number))) { path in
                entries.append(Array(path))
                return entries.count < limit
            }
            guard entries.count >= limit else { return true }
            next = parent
            return false
        } passed: { path in
            looked += 1
            guard looked >= limit else { return true }
            next = KeyBytes.successor(ofPrefix: Array(path))
            return false
        }
        for path in entries { try storage.delete(.tree, TreeKey.stored(path, inTree: layout.tree(of: path))) }
        return next
    }

    // MARK: Nodes

    /// Visits the nodes whose children the index orders and that have any at or after a path, until the body returns
    /// false.
    ///
    /// - Parameter passed: called with each node on the way of which everything was visited, also where the index orders
    ///   nothing. If it returns false, the visit ends.
    /// - Returns: false if the visit was ended.
    private func eachParent(
        from lower: [UInt8], _ body: ([UInt8]) throws -> Bool,
        passed: (ArraySlice<UInt8>) -> Bool = { _ in true }
    ) throws -> Bool {
        guard index.definition.mayCover(below: root) else { return true }
        return try visit(TreeKey.of(root), index.definition.parents.dropFirst(root.depth), from: lower, body, passed)
    }

    private func visit(
        _ path: [UInt8], _ steps: ArraySlice<RealtimeIndexDefinition.Step>, from lower: [UInt8],
        _ body: ([UInt8]) throws -> Bool, _ passed: (ArraySlice<UInt8>) -> Bool
    ) throws -> Bool {
        // What comes before was visited.
        if let upper = TreeKey.subtree(path).upper, !lower.lexicographicallyPrecedes(upper) { return true }
        guard let step = steps.first else { return try state.hasChildren(at: path) ? try body(path) : true }
        switch step {
        case .key(let key):
            return try visit(RealtimeSnapshot.child(key, of: path), steps.dropFirst(), from: lower, body, passed)
        case .any:
            var range = TreeKey.children(of: path)
            if lower.starts(with: path), lower.count > path.count {
                // From the child that the path is below.
                var reader = TreeKeyReader(lower.dropFirst(path.count))
                if !reader.isAtEntries, (try? reader.key()) != nil {
                    range = range.from(Array(lower[..<reader.position]))
                } else {
                    range = range.from(lower)
                }
            }
            var goesOn = true
            try state.eachChild(of: path, in: range) { child in
                goesOn =
                    try visit(Array(child.path), steps.dropFirst(), from: lower, body, passed) && passed(child.path)
                return goesOn
            }
            return goesOn
        }
    }
}

extension KeyRange {
    /// The part at and after a key.
    fileprivate func from(_ key: [UInt8]) -> KeyRange {
        lower.lexicographicallyPrecedes(key) ? KeyRange(lower: key, upper: upper) : self
    }
}
