import RealtimeModel

/// The rows of nodes, with the entries of indexes below them, in the order of their paths.
struct NodeRows {
    /// Those that entries are made for.
    let indexes: [RealtimeIndex]
    private(set) var rows: [(path: [UInt8], row: [UInt8])] = []

    init(indexes: [RealtimeIndex]) { self.indexes = indexes }

    /// Adds a node and what is below it.
    ///
    /// - Parameter key: the path's bytes.
    mutating func add(_ node: RealtimeNode, at path: RealtimePath, _ key: [UInt8]) {
        if node.leaf != nil || node.priority != nil {
            rows.append((key, StoredNode(leaf: node.leaf, priority: node.priority).encoded(at: key)))
        }
        guard node.leaf == nil else { return }
        addEntries(of: node, at: path, key)
        for child in node.children {
            var childKey = key
            TreeKey.append(child.key, to: &childKey)
            add(child.node, at: path.child(child.key), childKey)
        }
    }

    private mutating func addEntries(of node: RealtimeNode, at path: RealtimePath, _ key: [UInt8]) {
        var entries: [[UInt8]] = []
        let priorities = IndexEntryKey.prefix(of: key, index: IndexEntryKey.priorities)
        for child in node.children {
            guard let priority = child.node.priority else { continue }
            entries.append(
                IndexEntryKey.of(RealtimeIndexEntry(value: .leaf(priority.leaf), key: child.key), in: priorities))
        }
        for index in indexes where index.definition.covers(path.keys) {
            let prefix = IndexEntryKey.prefix(of: key, index: index.number)
            for child in node.children {
                let value = index.definition.index.value(of: child.node)
                entries.append(IndexEntryKey.of(RealtimeIndexEntry(value: value, key: child.key), in: prefix))
            }
        }
        entries.sort { $0.lexicographicallyPrecedes($1) }
        for entry in entries { rows.append((entry, [])) }
    }
}
