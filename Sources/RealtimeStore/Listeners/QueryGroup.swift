import RealtimeModel

/// The listeners of one query at one path, with the matches that they know.
///
/// Its variables are used by the listeners' thread only.
final class QueryGroup: @unchecked Sendable {
    let path: RealtimePath
    let query: RealtimeQuery
    var listeners: [UInt64: ListenerCore] = [:]
    /// What the listeners have; nil while the only one is starting, or all receive the whole result again.
    private(set) var window: QueryWindow?
    /// Changes that the window doesn't have yet.
    private var changes: [(version: Int64, change: RealtimeChange)] = []

    init(_ core: ListenerCore, _ query: RealtimeQuery) {
        path = core.path
        self.query = query
        listeners[core.id] = core
    }

    var isStarting: Bool { window == nil }

    var isOutdated: Bool { !changes.isEmpty }

    /// - Parameter change: as seen from the path.
    func add(_ change: RealtimeChange, version: Int64) {
        // The node's own priority isn't part of a query's result.
        if change.target.path.isRoot, change.target.isPriority { return }
        changes.append((version, change))
    }

    func begin(at version: Int64, _ matches: [RealtimeIndexEntry]) {
        window = QueryWindow(matches, query)
        changes.removeAll { $0.version <= version }
    }

    /// Forgets the window. The whole result follows, with ``begin(at:_:)``.
    func restart() {
        window = nil
        changes = []
    }

    /// Brings the window up to date.
    ///
    /// - Returns: what to push; nil if nothing differs.
    /// - Throws: `tooManyNodes` or `tooLarge` if that needs more than the state's limits allow.
    func update(from state: QueryState) throws -> RealtimePush? {
        guard var window, !changes.isEmpty else { return nil }
        defer { changes = [] }
        var pushed: [RealtimeChange] = []
        if changes.contains(where: { $0.change.target.path.isRoot }) {
            let matches = try state.snapshot.matches(of: query, at: path).entries
            pushed = [RealtimeChange(RealtimeTarget(.root), try node(of: matches, in: state))]
            window = QueryWindow(matches, query)
        } else {
            var byChild: [RealtimeKey: [RealtimeChange]] = [:]
            for (_, change) in changes { byChild[change.target.path.keys[0], default: []].append(change) }
            var entries: [RealtimeIndexEntry] = []
            for key in byChild.keys {
                if let entry = try state.entry(of: key, at: path, by: query.index) { entries.append(entry) }
            }
            let difference = try window.update(changed: Set(byChild.keys), to: entries) {
                try state.snapshot.matches(of: query, at: path).entries
            }
            for key in difference.left.sorted() { pushed.append(RealtimeChange(Self.target(of: key), nil)) }
            for key in difference.kept.sorted() {
                guard let changes = byChild[key] else { continue }
                // One change is applied by clients as it was here. After several, an object may have lost its
                // priority in between, which only the whole child tells.
                if changes.count == 1 { pushed.append(changes[0]) } else { pushed.append(try whole(key, in: state)) }
            }
            for key in difference.entered.sorted() { pushed.append(try whole(key, in: state)) }
        }
        self.window = window
        return pushed.isEmpty ? nil : RealtimePush(at: path, pushed, version: state.snapshot.version)
    }

    func push(_ push: RealtimePush) { for listener in listeners.values { listener.push(push) } }

    private func whole(_ key: RealtimeKey, in state: QueryState) throws -> RealtimeChange {
        RealtimeChange(Self.target(of: key), try state.node(at: path.child(key)))
    }

    private func node(of matches: [RealtimeIndexEntry], in state: QueryState) throws -> RealtimeNode? {
        var children: [RealtimeChildren.Child] = []
        for key in matches.map(\.key).sorted() {
            if let child = try state.node(at: path.child(key)) { children.append((key, child)) }
        }
        return RealtimeNode(RealtimeChildren(sorted: children))
    }

    private static func target(of key: RealtimeKey) -> RealtimeTarget {
        RealtimeTarget(RealtimePath(unchecked: [key]))
    }
}
