import DocumentModel
import RealtimeModel
import StorageEngine

/// Finds the nodes that a commit changes and that patterns of triggers match.
///
/// Nodes above a target are found by its path, those below by the rows that differ; so it costs what was changed, and the
/// patterns that fit.
struct ChangedReferences {
    /// A node that has changed.
    struct Reference {
        /// Those whose patterns it matches.
        var triggers: [RealtimeTrigger]
        /// What was set at or below it, with targets from the root.
        var settings: [RealtimeChange]
        /// Whether the value may be what it was.
        var mayBeEqual = false
    }

    private let triggers: RealtimeTriggers
    private let namespace: String
    private let before: RealtimeSnapshot
    private let after: RealtimeSnapshot
    /// The nodes that are found before the search ends.
    private let limit: Int
    private(set) var references: [RealtimePath: Reference] = [:]

    /// - Parameters:
    ///   - before: the state before the commit.
    ///   - after: the state that the whole commit leads to.
    init(
        _ triggers: RealtimeTriggers, in namespace: String, before: RealtimeSnapshot, after: RealtimeSnapshot,
        limit: Int
    ) {
        self.triggers = triggers
        self.namespace = namespace
        self.before = before
        self.after = after
        self.limit = limit
    }

    /// - Throws: ``TooManyReferences``, or an error of the store.
    mutating func add(_ applied: RealtimeAppliedChange) throws {
        let (change, extent) = (applied.change, applied.extent)
        let path = change.target.path
        var isUncertain = false
        if case .any = extent { isUncertain = true }
        var nodes = [triggers.root]
        for depth in 0...path.depth {
            try note(path.prefix(depth), nodes, change, mayBeEqual: isUncertain)
            guard depth < path.depth else { break }
            nodes = nodes.after(path.keys[depth])
            guard !nodes.isEmpty else { return }
        }
        guard nodes.hasMore, !change.target.isPriority else { return }
        switch extent {
        case .created: try addCreated(change.node, at: path, nodes)
        case .rows(let rows): try addDiffering(rows[...], change, at: path, TreeKey.of(path), nodes)
        case .any: try addAny(change, at: path, nodes)
        }
    }

    private mutating func note(
        _ path: RealtimePath, _ nodes: [RealtimeTriggers.Node], _ change: RealtimeChange, mayBeEqual: Bool = false
    ) throws {
        let fitting = nodes.flatMap(\.triggers).filter { $0.instance.matches(namespace) }
        guard !fitting.isEmpty else { return }
        var reference = references[path] ?? Reference(triggers: [], settings: [])
        for trigger in fitting where !reference.triggers.contains(trigger) { reference.triggers.append(trigger) }
        reference.settings.append(change)
        if mayBeEqual { reference.mayBeEqual = true }
        references[path] = reference
        if references.count > limit { throw TooManyReferences() }
    }

    /// All below a node that didn't exist.
    private mutating func addCreated(
        _ node: RealtimeNode?, at path: RealtimePath, _ nodes: [RealtimeTriggers.Node]
    ) throws {
        guard let node else { return }
        func children(_ visit: (RealtimeKey, RealtimeNode) throws -> Void) throws {
            guard let keys = nodes.nextKeys else {
                for child in node.children { try visit(child.key, child.node) }
                return
            }
            for key in keys { if let child = node[key] { try visit(key, child) } }
        }
        try children { key, child in
            let (path, nodes) = (path.child(key), nodes.after(key))
            try note(path, nodes, RealtimeChange(RealtimeTarget(path), child))
            if nodes.hasMore { try addCreated(child, at: path, nodes) }
        }
    }

    /// Those below a node of which rows differ.
    ///
    /// - Parameters:
    ///   - rows: the paths of these rows, in their order.
    ///   - prefix: the node's path in bytes.
    private mutating func addDiffering(
        _ rows: ArraySlice<[UInt8]>, _ change: RealtimeChange, at path: RealtimePath, _ prefix: [UInt8],
        _ nodes: [RealtimeTriggers.Node]
    ) throws {
        var rest = rows
        while let row = rest.first {
            // The node's own row.
            guard row.count > prefix.count else {
                rest.removeFirst()
                continue
            }
            var reader = TreeKeyReader(row[prefix.count...])
            let key = try reader.key()
            let childPrefix = Array(row[..<reader.position])
            let end = rest.firstIndex { !$0.starts(with: childPrefix) } ?? rest.endIndex
            let (path, nodes) = (path.child(key), nodes.after(key))
            if !nodes.isEmpty {
                let relative = path.relative(to: change.target.path) ?? .root
                try note(path, nodes, RealtimeChange(RealtimeTarget(path), change.node?[relative]))
                if nodes.hasMore { try addDiffering(rest[..<end], change, at: path, childPrefix, nodes) }
            }
            rest = rest[end...]
        }
    }

    /// Those below a node whose old rows, or new ones, weren't looked at.
    private mutating func addAny(
        _ change: RealtimeChange, at path: RealtimePath, _ nodes: [RealtimeTriggers.Node]
    ) throws {
        for key in try keys(below: path, nodes) {
            let (path, nodes) = (path.child(key), nodes.after(key))
            let relative = path.relative(to: change.target.path) ?? .root
            // A staged value's part stays where it is: the change says so by having no node.
            var part = RealtimeChange(RealtimeTarget(path), change.node?[relative])
            part.staged = change.staged
            try note(path, nodes, part, mayBeEqual: true)
            if nodes.hasMore { try addAny(change, at: path, nodes) }
        }
    }

    /// The keys of children, before or after, that the patterns go on with.
    private func keys(below path: RealtimePath, _ nodes: [RealtimeTriggers.Node]) throws -> Set<RealtimeKey> {
        guard let keys = nodes.nextKeys else {
            var keys = Set(try before.childKeys(at: path, limit: limit + 1))
            keys.formUnion(try after.childKeys(at: path, limit: limit + 1))
            return keys
        }
        return try keys.filter { key in
            try before.exists(at: path.child(key)) || after.exists(at: path.child(key))
        }
    }
}

/// More nodes have changed that functions are called for than one commit may have.
struct TooManyReferences: Error {}
