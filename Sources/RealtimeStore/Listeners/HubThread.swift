import CommitPipeline
import RealtimeModel

/// The thread that delivers changes to listeners and answers to callers.
///
/// Listeners without a query receive each commit's changes as they are. Those with one are brought up to date before the
/// next commit, by a snapshot in which the commits that are to come are undone. So each commit is pushed before the answer to
/// its caller, and that before any later commit: a client that has an answer takes what it knows for the state with its own
/// write.
final class HubThread: @unchecked Sendable {
    // Everything here is used only by the thread that calls `run`.
    private let hub: RealtimeHub
    private let session: SnapshotSession
    private let catalogs: CatalogCache
    /// What one window may look at, while all others wait.
    private let limits: RealtimeReadLimits
    /// What is read at once for listeners of places that a large value has changed.
    private let maxReloadedBytes: Int
    private var backlog = IndexedQueue<HubJob>()
    /// The commits in the backlog.
    private var later = LaterCommits()
    /// The version up to which all have come.
    private var arrived: Int64
    private var cores: [UInt64: ListenerCore] = [:]
    private var trees: [String: ListenerTree] = [:]
    /// The groups with changes that their windows don't have yet, by namespace.
    private var outdated: [ObjectIdentifier: (namespace: String, group: QueryGroup)] = [:]
    private var outdatedPlaces = OutdatedPlaces()
    /// The version up to which listeners without a query have their changes.
    private var position: Int64
    private let elapsed: @Sendable () -> Duration
    private var windows: WindowBudget
    /// The groups that wait for their query's result.
    private var refreshing = 0
    /// Those of them for which the readers had no time.
    private var delayed = DelayedRefreshes()
    private var allowance = WindowReadAllowance()
    private var settled: [@Sendable () -> Void] = []
    /// What waits for commits that are durable but haven't come yet.
    private var waiting: [(version: Int64, job: HubJob)] = []

    init(
        _ hub: RealtimeHub, _ session: SnapshotSession, _ catalogs: CatalogCache, limits: RealtimeReadLimits,
        maxReloadedBytes: Int, windows: WindowBudget, position: Int64, elapsed: @escaping @Sendable () -> Duration
    ) {
        self.hub = hub
        self.session = session
        self.catalogs = catalogs
        self.limits = limits
        self.maxReloadedBytes = maxReloadedBytes
        self.windows = windows
        self.position = position
        arrived = position
        self.elapsed = elapsed
    }

    func run() {
        while take(within: nextDeadline.map { max($0 - elapsed(), .zero) }) {
            work()
            if hub.hasTurns { for answer in hub.changeTurns({ $0.expire(at: elapsed()) }) { answer() } }
            retry(at: elapsed())
        }
        // Without a writer, no more commits come.
        arrived = .max
        position = .max
        work()
        for answer in hub.changeTurns({ $0.removeAll() }) { answer() }
        // Results that were being read don't come any more.
        refreshing = 0
        callSettled()
    }

    private var nextDeadline: Duration? {
        guard let retryTime = delayed.retryTime else { return hub.nextDeadline }
        return hub.nextDeadline.map { min($0, retryTime) } ?? retryTime
    }

    private func work() {
        repeat {
            while let job = backlog.popFirst() { handle(job) }
            updateGroups()
        } while releaseWaiting() || !backlog.isEmpty
    }

    private func take(within timeout: Duration? = nil) -> Bool {
        guard let jobs = hub.jobs.take(within: timeout) else { return false }
        for job in jobs {
            switch job {
            case .commit(let commit): later.append(commit)
            case .reached(let version): arrived = max(arrived, version)
            default: break
            }
            backlog.append(job)
        }
        return true
    }

    private func handle(_ job: HubJob) {
        switch job {
        case .commit(let commit):
            updateGroups()
            later.removeFirst()
            if let tree = trees[commit.namespace] { deliver(commit, to: tree) }
            reach(commit.version)
        case .wake: break
        case .reached(let version): reach(version)
        case .completion(let version, let completion):
            if let version, version > position { return waiting.append((version, job)) }
            updateGroups()
            completion()
        case .decision(let places, let stale, let client, let completion):
            updateGroups()
            hub.decide(places, stale: stale, of: client, completion)
        case .add(let core): add(core)
        case .begin(let id, let beginning):
            if beginning.version > position { return waiting.append((beginning.version, job)) }
            updateGroups()
            begin(id, beginning)
        case .refreshed(let namespace, let group, let result):
            if case .success(let result) = result, result.version > position {
                return waiting.append((result.version, job))
            }
            updateGroups()
            refreshed(group, in: namespace, result)
        case .remove(let id): remove(id)
        case .settled(let completion):
            updateGroups()
            settled.append(completion)
            callSettled()
        }
    }

    private func reach(_ version: Int64) {
        position = max(position, version)
        later.reach(position)
        _ = releaseWaiting()
    }

    private func callSettled() {
        guard refreshing == 0 else { return }
        for completion in settled { completion() }
        settled = []
    }

    /// - Returns: whether something has waited for commits that have come.
    private func releaseWaiting() -> Bool {
        guard !waiting.isEmpty else { return false }
        let released = waiting.filter { $0.version <= position }
        waiting.removeAll { $0.version <= position }
        for (_, job) in released { handle(job) }
        return !released.isEmpty
    }

    // MARK: Listeners

    private func add(_ core: ListenerCore) {
        cores[core.id] = core
        let tree = trees[core.namespace] ?? ListenerTree()
        trees[core.namespace] = tree
        let place = tree.makePlace(core.path)
        guard let query = core.query else { return place.listeners[core.id] = core }
        // On its own until it has begun.
        let group = QueryGroup(core, query)
        place.add(group)
        // What others have already is skipped when it comes.
        for commit in later.taken(of: core.namespace) {
            for (changed, changes) in tree.places(of: commit) where changed === place {
                group.add(changes, version: commit.version, bytes: commit.bytes)
            }
        }
    }

    private func begin(_ id: UInt64, _ beginning: ListenerBeginning) {
        guard let core = cores[id] else { return }
        let failure = beginning.failure ?? refusal(of: core, beginning.matches)
        beginning.deliver(failure)
        guard failure == nil else { return remove(id) }
        guard let place = trees[core.namespace]?.place(core.path) else { return }
        let isOutdated = core.begin(at: beginning.version)
        guard let own = core.group else {
            if isOutdated { outdatedPlaces.add(place, in: core.namespace) }
            return updateGroups()
        }
        own.begin(at: beginning.version, QueryWindow(beginning.matches ?? [], own.query))
        guard !own.lacks(beginning.version) else {
            place.share(own)
            own.countedSize = 0
            return refresh(own, in: core.namespace)
        }
        if own.isOutdated { outdated[ObjectIdentifier(own)] = (core.namespace, own) }
        updateGroups()
        // The update may have ended the group, or forgotten its window.
        guard cores[id] != nil else { return }
        if !own.isReading, let shared = place.current(own.query) {
            // Both have the same version now.
            place.remove(own)
            own.remove(core)
            shared.add(core)
        } else {
            place.share(own)
            own.countedSize = 0
            count(own)
        }
    }

    /// Checks a listener's window against the limits, before the client has its answer.
    ///
    /// - Returns: the limit that the window exceeds; nil if it exceeds none.
    private func refusal(of core: ListenerCore, _ matches: [RealtimeIndexEntry]?) -> RealtimeFailure? {
        guard let query = core.query, let matches,
            trees[core.namespace]?.place(core.path)?.current(query) == nil
        else { return nil }
        do throws(RealtimeFailure) {
            try windows.check(0, by: QueryWindow.size(of: matches, query), of: core.caller)
            return nil
        } catch {
            return error
        }
    }

    private func remove(_ id: UInt64) {
        guard let core = cores.removeValue(forKey: id) else { return }
        hub.removed(core)
        guard let tree = trees[core.namespace], let place = tree.place(core.path) else { return }
        if let group = core.group { remove(core, from: group, at: place) } else { place.listeners[id] = nil }
        tree.tidy(core.path)
        if tree.isEmpty { trees[core.namespace] = nil }
    }

    private func remove(_ core: ListenerCore, from group: QueryGroup, at place: ListenerTree.Place) {
        let payer = group.payer.caller
        group.remove(core)
        guard group.listeners.isEmpty else {
            return windows.move(group.countedSize ?? 0, from: payer, to: group.payer.caller)
        }
        windows.remove(group.countedSize ?? 0, of: payer)
        place.remove(group)
        outdated[ObjectIdentifier(group)] = nil
    }

    /// Counts a group's window. If there is no place for it, its listeners end.
    private func count(_ group: QueryGroup) {
        guard let old = group.countedSize else { return }
        let new = group.windowSize
        do {
            try windows.replace(old, by: new, of: group.payer.caller)
            group.countedSize = new
        } catch {
            end(group, error)
        }
    }

    // MARK: Commits

    private func deliver(_ commit: RealtimeCommitFeed, to tree: ListenerTree) {
        for (place, changes) in tree.places(of: commit) {
            if changes.contains(where: { $0.staged != nil }) {
                outdatedPlaces.invalidate(place, in: commit.namespace, at: commit.version)
            } else if !place.listeners.isEmpty {
                let push = RealtimePush(
                    at: place.path, changes, version: commit.version, bytes: commit.bytes, to: place.listeners.count)
                for listener in place.listeners.values { listener.push(push) }
            }
            guard !later.hasTaken(commit) else { continue }
            add(changes, of: commit, toWindowsAt: place)
        }
    }

    // MARK: Queries

    /// Brings all windows, and what staged values have changed, to the state at the position.
    private func updateGroups() {
        guard !outdated.isEmpty || !outdatedPlaces.isEmpty else { return }
        do {
            try session.read { snapshot in
                guard gather(upTo: snapshot.version) else { return }
                let catalog = try catalogs.catalog(of: snapshot)
                let places = outdatedPlaces.takeAll()
                var states: [String: Result<QueryState, RealtimeFailure>] = [:]
                for namespace in Set(outdated.values.map(\.namespace) + places.map(\.namespace)) {
                    states[namespace] = Result { () throws(RealtimeFailure) in
                        QueryState(try state(of: namespace, catalog, in: snapshot))
                    }
                }
                let groups = outdated
                outdated = [:]
                var bytes = 0
                for (namespace, path, listeners) in places {
                    switch states[namespace] {
                    case .success(let state)?: reload(listeners, at: path, from: state, &bytes)
                    case .failure(let failure)?: end(listeners, failure)
                    case nil: break
                    }
                }
                allowance.refill(at: elapsed())
                for (namespace, group) in groups.values {
                    switch states[namespace] {
                    case .success(let state)?: update(group, in: namespace, from: state)
                    case .failure(let failure)?: end(group, failure)
                    case nil: break
                    }
                }
            }
        } catch {
            let groups = outdated.values.map(\.group)
            let listeners = outdatedPlaces.takeAll().flatMap(\.listeners)
            outdated = [:]
            for group in groups { end(group, RealtimeFailure(from: error)) }
            end(listeners, RealtimeFailure(from: error))
        }
    }

    // MARK: Commits that are to come

    /// Adds what is to come, up to a snapshot, to the windows of a namespace. They are skipped when it comes.
    private func bringWindows(of namespace: String, upTo version: Int64) {
        let commits = later.take(namespace, upTo: version, from: position)
        guard let tree = trees[namespace] else { return }
        for commit in commits {
            for (place, changes) in tree.places(of: commit) { add(changes, of: commit, toWindowsAt: place) }
        }
    }

    private func add(
        _ changes: [RealtimeChange], of commit: RealtimeCommitFeed, toWindowsAt place: ListenerTree.Place
    ) {
        for (key, group) in place.groups {
            group.add(changes, version: commit.version, bytes: commit.bytes)
            if !group.isReading { outdated[key] = (commit.namespace, group) }
        }
    }

    /// A namespace in the state that its windows are to have. If the commits that are to come can't be undone, the windows get
    /// them now.
    ///
    /// - Throws: `damaged` if what is kept of it can't be read: its listeners would be shown an empty tree.
    private func state(
        of namespace: String, _ catalog: RealtimeCatalog, in snapshot: Snapshot
    ) throws(RealtimeFailure) -> RealtimeSnapshot {
        let record = try catalog.record(of: namespace)
        let undone = later.undone(in: namespace, catalog.generation, upTo: snapshot.version, from: position)
        if undone == nil { bringWindows(of: namespace, upTo: snapshot.version) }
        guard let undone, !undone.isEmpty else { return RealtimeSnapshot(record, in: snapshot, limits: limits) }
        let rows = TreeRows(
            storage: snapshot.storage, layout: record?.layout ?? TreeLayout(tree: 0), changes: undone)
        return RealtimeSnapshot(
            rows, indexes: record?.indexes ?? [], limits: limits, version: later.taken(namespace, from: position))
    }

    /// Sends listeners all that is at their path. If that is too large for one push, or if too much was read for others
    /// already while all wait, they end.
    ///
    /// - Parameter total: the bytes read so far.
    private func reload(
        _ listeners: [ListenerCore], at path: RealtimePath, from state: QueryState, _ total: inout Int
    ) {
        guard !listeners.isEmpty else { return }
        guard total < maxReloadedBytes else { return end(listeners, .tooLarge(limits.maxBytes)) }
        var bytes = ReadBytes(limits)
        defer { total += bytes.count }
        do {
            let change = RealtimeChange(RealtimeTarget(.root), try state.node(at: path, counting: &bytes))
            let push = RealtimePush(at: path, [change], version: state.snapshot.version, to: listeners.count)
            for listener in listeners { listener.reload(push) }
        } catch {
            end(listeners, RealtimeFailure(from: error))
        }
    }

    private func update(_ group: QueryGroup, in namespace: String, from state: QueryState) {
        guard !allowance.isUsedUp else { return refresh(group, in: namespace) }
        var read = 0
        defer { allowance.take(read) }
        do {
            if let push = try group.update(from: state, total: &read) { group.push(push) }
            count(group)
        } catch let failure as RealtimeFailure where failure.code == .tooManyNodes || failure.code == .tooLarge {
            refresh(group, in: namespace)
        } catch {
            end(group, RealtimeFailure(from: error))
        }
    }

    /// Lets a reader read the whole result.
    private func refresh(_ group: QueryGroup, in namespace: String) {
        group.restart()
        count(group)
        refreshing += 1
        hub.refresh(group, in: namespace, of: group.payer.caller)
    }

    private func refreshed(
        _ group: QueryGroup, in namespace: String, _ result: Result<QueryResult, RealtimeFailure>
    ) {
        if case .failure(let failure) = result, failure.code == .unavailable, failure != Self.shutDown {
            return delay(group, in: namespace)
        }
        defer {
            refreshing -= 1
            // What was changed meanwhile may be read once more.
            updateGroups()
            callSettled()
        }
        guard !group.listeners.isEmpty else { return }
        switch result {
        case .failure(let failure): end(group, failure)
        case .success(let result):
            group.begin(at: result.version, result.window)
            guard !group.lacks(result.version) else { return refresh(group, in: namespace) }
            let change = RealtimeChange(RealtimeTarget(.root), result.node)
            group.push(
                RealtimePush(at: group.path, [change], version: result.version, to: group.listeners.count))
            if group.isOutdated { outdated[ObjectIdentifier(group)] = (namespace, group) }
            count(group)
        }
    }

    private static let shutDown = RealtimeFailure(from: CommitPipeline.shutDown)

    /// Waits with a result until the readers have time for it.
    private func delay(_ group: QueryGroup, in namespace: String) {
        group.delay()
        delayed.append(group, in: namespace, at: elapsed())
    }

    /// Asks for delayed results again.
    private func retry(at now: Duration) {
        for (namespace, group) in delayed.takeDue(at: now) {
            guard !group.listeners.isEmpty else {
                refreshing -= 1
                continue
            }
            group.restart()
            hub.refresh(group, in: namespace, of: group.payer.caller)
        }
        callSettled()
    }

    private func end(_ group: QueryGroup, _ failure: RealtimeFailure) { end(Array(group.listeners.values), failure) }

    private func end(_ listeners: [ListenerCore], _ failure: RealtimeFailure) {
        for listener in listeners {
            listener.failed(failure)
            remove(listener.id)
        }
    }

    /// Waits until the commits up to a version, which are durable, have come.
    ///
    /// - Returns: false if they don't come, because the pipeline has ended.
    private func gather(upTo version: Int64) -> Bool {
        while arrived < version {
            guard take() else { return false }
        }
        return true
    }
}
