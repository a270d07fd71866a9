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

    /// Where the patterns begin.
    private let roots: [RealtimeTriggers.Node]
    private let before: RealtimeSnapshot
    private let after: RealtimeSnapshot
    /// The nodes that may still be looked at.
    private var nodesLeft: Int
    private(set) var references: [RealtimePath: Reference] = [:]

    /// - Parameters:
    ///   - before: the state before the commit.
    ///   - after: the state that the whole commit leads to.
    ///   - maxNodes: how many nodes are looked at, with those that patterns go through.
    init(
        _ triggers: RealtimeTriggers, in namespace: String, before: RealtimeSnapshot, after: RealtimeSnapshot,
        maxNodes: Int
    ) {
        roots = triggers.roots(in: namespace)
        self.before = before
        self.after = after
        nodesLeft = maxNodes
    }

    /// - Throws: ``TooManyNodes``, or an error of the store.
    mutating func add(_ applied: RealtimeAppliedChange) throws {
        let (change, extent) = (applied.change, applied.extent)
        let path = change.target.path
        var isUncertain = false
        if applied.isMerged { isUncertain = true }
        var nodes = roots
        for depth in 0...path.depth {
            try note(path.prefix(depth), nodes, change, mayBeEqual: isUncertain)
            guard depth < path.depth else { break }
            nodes = nodes.after(path.keys[depth])
            guard !nodes.isEmpty else { return }
        }
        guard !change.target.isPriority else { return }
        let walk = Walk(change, extent)
        switch extent {
        case .created: try addCreated(change.node, at: path, nodes, walk)
        case .rows(let rows): try addDiffering(rows[...], at: path, TreeKey.of(path), nodes, walk)
        case .any, .parts: try addAny(at: path, nodes, walk)
        }
    }

    /// A change whose target's descendants are looked at.
    private struct Walk {
        let change: RealtimeChange
        /// Nothing else can happen to a node below the target.
        let kinds: Set<ChangeEventType>

        init(_ change: RealtimeChange, _ extent: RealtimeAppliedChange.Extent) {
            self.change = change
            kinds =
                if case .created = extent {
                    [.created, .written]
                } else if change.node == nil, change.staged == nil {
                    [.deleted, .written]
                } else {
                    [.created, .updated, .deleted, .written]
                }
        }

        var removesAll: Bool { change.node == nil && change.staged == nil }

        /// What is set at a descendant of the target. A staged value's part stays where it is: the change says so by having
        /// no node.
        func part(at path: RealtimePath) -> RealtimeChange {
            let relative = path.relative(to: change.target.path) ?? .root
            var part = RealtimeChange(RealtimeTarget(path), change.node?[relative])
            part.staged = change.staged
            return part
        }
    }

    private mutating func note(
        _ path: RealtimePath, _ nodes: [RealtimeTriggers.Node], _ change: @autoclosure () -> RealtimeChange,
        mayBeEqual: Bool = false
    ) throws {
        guard nodes.contains(where: { !$0.triggers.isEmpty }) else { return }
        var reference = references[path] ?? Reference(triggers: [], settings: [])
        for trigger in nodes.lazy.flatMap(\.triggers) where !reference.triggers.contains(trigger) {
            reference.triggers.append(trigger)
        }
        reference.settings.append(change())
        if mayBeEqual { reference.mayBeEqual = true }
        references[path] = reference
    }

    private mutating func count(_ nodes: Int = 1) throws {
        guard nodes <= nodesLeft else { throw TooManyNodes() }
        nodesLeft -= nodes
    }

    /// All below a node that didn't exist.
    private mutating func addCreated(
        _ node: RealtimeNode?, at path: RealtimePath, _ nodes: [RealtimeTriggers.Node], _ walk: Walk
    ) throws {
        guard let node else { return }
        func add(_ key: RealtimeKey, _ child: RealtimeNode, _ references: inout Self) throws {
            try references.count()
            let (path, nodes) = (path.child(key), nodes.after(key, walk.kinds))
            try references.note(path, nodes, RealtimeChange(RealtimeTarget(path), child))
            try references.addCreated(child, at: path, nodes, walk)
        }
        switch nodes.nextKeys(walk.kinds) {
        case .any: for child in node.children { try add(child.key, child.node, &self) }
        case .some(let keys): for key in keys { if let child = node[key] { try add(key, child, &self) } }
        }
    }

    /// Those below a node of which rows differ.
    ///
    /// - Parameters:
    ///   - rows: the paths of these rows, in their order.
    ///   - prefix: the node's path in bytes.
    private mutating func addDiffering(
        _ rows: ArraySlice<[UInt8]>, at path: RealtimePath, _ prefix: [UInt8], _ nodes: [RealtimeTriggers.Node],
        _ walk: Walk
    ) throws {
        guard nodes.hasMore else { return }
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
            let (path, nodes) = (path.child(key), nodes.after(key, walk.kinds))
            if !nodes.isEmpty {
                try count()
                try note(path, nodes, walk.part(at: path))
                try addDiffering(rest[..<end], at: path, childPrefix, nodes, walk)
            }
            rest = rest[end...]
        }
    }

    /// Those below a node whose old rows, or new ones, weren't looked at.
    private mutating func addAny(at path: RealtimePath, _ nodes: [RealtimeTriggers.Node], _ walk: Walk) throws {
        for key in try keys(below: path, nodes, walk) {
            let (path, nodes) = (path.child(key), nodes.after(key, walk.kinds))
            try note(path, nodes, walk.part(at: path), mayBeEqual: true)
            try addAny(at: path, nodes, walk)
        }
    }

    /// The keys of children, before or after, that the patterns go on with.
    private mutating func keys(
        below path: RealtimePath, _ nodes: [RealtimeTriggers.Node], _ walk: Walk
    ) throws -> Set<RealtimeKey> {
        switch nodes.nextKeys(walk.kinds) {
        case .any:
            var keys: Set<RealtimeKey> = []
            for state in walk.removesAll ? [before] : [before, after] {
                let found = try state.childKeys(at: path, limit: nodesLeft + 1)
                try count(found.count)
                keys.formUnion(found)
            }
            return keys
        case .some(let keys):
            try count(keys.count)
            return try keys.filter { key in
                try before.exists(at: path.child(key)) || after.exists(at: path.child(key))
            }
        }
    }
}

/// More nodes would be looked at for a commit's events than may be.
struct TooManyNodes: Error {}
