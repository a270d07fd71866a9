import CommitPipeline
import RealtimeModel

/// The listeners of one query at one path, with the matches that they know.
///
/// Its variables are used by the listeners' thread only.
final class QueryGroup: @unchecked Sendable {
    private enum State {
        /// The whole result is being read: for the only listener, or for all of them again.
        case reading
        /// The whole result will be read later.
        case delayed
        /// What the listeners have.
        case current(QueryWindow)
    }

    let path: RealtimePath
    let query: RealtimeQuery
    private(set) var listeners: [UInt64: ListenerCore] = [:]
    private var state = State.reading
    /// Changes that the window doesn't have yet, by commit: all groups of a path share them.
    private var changes: [(version: Int64, changes: [RealtimeChange])] = []
    private var changedCount = 0
    private var changedBytes = 0
    /// The version of the last change that isn't kept, because too much waited for the whole result.
    private var forgotten = Int64.min
    /// The listener for whose caller the window is counted.
    private(set) var payer: ListenerCore
    /// The window's size as it was counted last; nil before the first time.
    var countedSize: Int?

    init(_ core: ListenerCore, _ query: RealtimeQuery) {
        path = core.path
        self.query = query
        payer = core
        add(core)
    }

    /// Whether the listeners wait for the whole result.
    var isReading: Bool { if case .current = state { false } else { true } }

    var isOutdated: Bool { !changes.isEmpty }

    var windowSize: Int { if case .current(let window) = state { window.size } else { 0 } }

    // MARK: Listeners

    func add(_ core: ListenerCore) {
        listeners[core.id] = core
        core.group = self
    }

    /// Removes a listener. If the window was counted for its caller, it is counted for another listener's then.
    func remove(_ core: ListenerCore) {
        listeners[core.id] = nil
        core.group = nil
        if payer === core, let next = listeners.values.first { payer = next }
    }

    func push(_ push: RealtimePush) { for listener in listeners.values { listener.push(push) } }

    // MARK: The window

    /// - Parameters:
    ///   - new: those of a commit, as seen from the path.
    ///   - bytes: the approximate size of them and the commit's others.
    func add(_ new: [RealtimeChange], version: Int64, bytes: Int) {
        // What is read later has it.
        if case .delayed = state { return }
        guard !new.allSatisfy(Self.isIrrelevant) else { return }
        changedCount += new.count
        changedBytes += bytes
        if isReading, changedCount > WaitingChanges.maxCount || changedBytes > WaitingChanges.maxBytes {
            forgotten = version
            forgetChanges()
            return
        }
        changes.append((version, new))
    }

    /// The node's own priority isn't part of a query's result.
    private static func isIrrelevant(_ change: RealtimeChange) -> Bool {
        change.target.path.isRoot && change.target.isPriority
    }

    private func forgetChanges() { (changes, changedCount, changedBytes) = ([], 0, 0) }

    /// Whether a result of the version lacks changes that aren't kept.
    func lacks(_ version: Int64) -> Bool { forgotten > version }

    func begin(at version: Int64, _ window: QueryWindow) {
        state = .current(window)
        changes.removeAll { $0.version <= version }
        changedCount = changes.reduce(0) { $0 + $1.changes.count }
        changedBytes = 0
    }

    /// Forgets the window. The whole result follows, with ``begin(at:_:)``.
    func restart() {
        state = .reading
        forgetChanges()
    }

    /// Forgets the window until ``restart()``.
    func delay() {
        state = .delayed
        forgetChanges()
    }

    /// Brings the window up to date.
    ///
    /// - Parameter total: the bytes that were read, with those before.
    /// - Returns: what to push; nil if nothing differs.
    /// - Throws: `tooManyNodes` or `tooLarge` if that needs more than the state's limits allow. The window is gone then.
    func update(from state: QueryState, total: inout Int) throws -> RealtimePush? {
        guard case .current(var window) = self.state, !changes.isEmpty else { return nil }
        // The only reference, so that the update copies nothing.
        self.state = .reading
        let (all, count) = (changes, changedCount)
        forgetChanges()
        var bytes = ReadBytes(state.snapshot.limits)
        total += count * Self.bytesOfChange
        defer { total += bytes.count }
        var pushed: [RealtimeChange] = []
        let limit = state.snapshot.limits.maxQueryNodes
        // The whole result is read then.
        guard count <= limit * Self.changesOfChild else {
            throw RealtimeFailure(.tooManyNodes, "more than \(limit * Self.changesOfChild) nodes have changed")
        }
        let changes = all.lazy.flatMap(\.changes).filter { !Self.isIrrelevant($0) }
        if changes.contains(where: { $0.target.path.isRoot }) {
            let matches = try state.snapshot.matches(of: query, at: path, counting: &bytes).entries
            pushed = [RealtimeChange(RealtimeTarget(.root), try node(of: matches, in: state, &bytes))]
            window = QueryWindow(matches, query)
        } else {
            var byChild: [RealtimeKey: [RealtimeChange]] = [:]
            for change in changes {
                byChild[change.target.path.keys[0], default: []].append(change)
                guard byChild.count <= limit else {
                    throw RealtimeFailure(.tooManyNodes, "more than \(limit) children have changed")
                }
            }
            var entries: [RealtimeIndexEntry] = []
            for key in byChild.keys {
                let entry = try state.entry(of: key, at: path, by: query.index, counting: &bytes)
                if let entry { entries.append(entry) }
            }
            let difference = try window.update(changed: Set(byChild.keys), to: entries) {
                try state.snapshot.matches(of: query, at: path, counting: &bytes).entries
            }
            for key in difference.left.sorted() { pushed.append(RealtimeChange(Self.target(of: key), nil)) }
            for key in difference.kept.sorted() {
                guard let changes = byChild[key] else { continue }
                // One change is applied by clients as it was here. After several, an object may have lost its
                // priority in between, which only the whole child tells. A staged value is only in the store.
                let isKnown = changes.count == 1 && changes[0].staged == nil
                pushed.append(isKnown ? changes[0] : try whole(key, in: state, &bytes))
            }
            for key in difference.entered.sorted() { pushed.append(try whole(key, in: state, &bytes)) }
        }
        self.state = .current(window)
        return pushed.isEmpty
            ? nil : RealtimePush(at: path, pushed, version: state.snapshot.version, to: listeners.count)
    }

    /// What looking at a change takes, as bytes read.
    private static let bytesOfChange = 64
    /// So many changes of each child are looked at.
    private static let changesOfChild = 10

    private func whole(_ key: RealtimeKey, in state: QueryState, _ bytes: inout ReadBytes) throws -> RealtimeChange {
        RealtimeChange(Self.target(of: key), try state.node(at: path.child(key), counting: &bytes))
    }

    private func node(
        of matches: [RealtimeIndexEntry], in state: QueryState, _ bytes: inout ReadBytes
    ) throws -> RealtimeNode? {
        var children: [RealtimeChildren.Child] = []
        for key in matches.map(\.key).sorted() {
            if let child = try state.node(at: path.child(key), counting: &bytes) { children.append((key, child)) }
        }
        return RealtimeNode(RealtimeChildren(sorted: children))
    }

    private static func target(of key: RealtimeKey) -> RealtimeTarget {
        RealtimeTarget(RealtimePath(unchecked: [key]))
    }
}
