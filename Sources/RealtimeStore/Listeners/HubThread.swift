import CommitPipeline
import RealtimeModel

/// The thread that delivers changes to listeners and answers to callers.
///
/// Listeners without a query receive each commit's changes as they are. Those with one are brought up to date by a
/// snapshot, which is taken at most once for each round of jobs; what comes behind waits for it.
final class HubThread: @unchecked Sendable {
    // Everything here is used only by the thread that calls `run`.
    private let hub: RealtimeHub
    private let session: SnapshotSession
    private let catalogs: CatalogCache
    /// What one window may look at, while all others wait.
    private let limits: RealtimeReadLimits
    private var backlog = IndexedQueue<HubJob>()
    private var cores: [UInt64: ListenerCore] = [:]
    private var trees: [String: ListenerTree] = [:]
    /// The groups with changes that their windows don't have yet, by namespace.
    private var outdated: [ObjectIdentifier: (namespace: String, group: QueryGroup)] = [:]
    /// The version up to which listeners without a query have their changes.
    private var position: Int64
    private var turns = StaleTurns(limit: .milliseconds(100))
    private let elapsed: @Sendable () -> Duration
    /// The groups that wait for their query's result.
    private var refreshing = 0
    private var settled: [@Sendable () -> Void] = []
    /// What waits for commits that are durable but haven't come yet.
    private var waiting: [(version: Int64, job: HubJob)] = []

    init(
        _ hub: RealtimeHub, _ session: SnapshotSession, _ catalogs: CatalogCache, limits: RealtimeReadLimits,
        position: Int64, elapsed: @escaping @Sendable () -> Duration
    ) {
        self.hub = hub
        self.session = session
        self.catalogs = catalogs
        self.limits = limits
        self.position = position
        self.elapsed = elapsed
    }

    func run() {
        while take(within: turns.nextDeadline.map { max($0 - elapsed(), .zero) }) {
            work()
            for answer in turns.expire(at: elapsed()) { answer() }
        }
        // Without a writer, no more commits come.
        position = .max
        work()
        for answer in turns.removeAll() { answer() }
        // Results that were being read don't come any more.
        refreshing = 0
        callSettled()
    }

    private func work() {
        repeat {
            while let job = backlog.popFirst() { handle(job) }
            updateGroups()
        } while releaseWaiting() || !backlog.isEmpty
    }

    private func take(within timeout: Duration? = nil) -> Bool {
        guard let jobs = hub.jobs.take(within: timeout) else { return false }
        for job in jobs { backlog.append(job) }
        return true
    }

    private func handle(_ job: HubJob) {
        switch job {
        case .commits(let commits, let version):
            deliver(commits, upTo: version)
            _ = releaseWaiting()
        case .completion(let version, let completion):
            if let version, version > position { return waiting.append((version, job)) }
            updateGroups()
            completion()
        case .decision(let place, let client, let isStale, let completion):
            updateGroups()
            for answer in turns.decided(place, of: client, isStale: isStale, at: elapsed(), completion) { answer() }
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
        place.groups[ObjectIdentifier(group)] = group
    }

    private func begin(_ id: UInt64, _ beginning: ListenerBeginning) {
        guard let core = cores[id] else { return }
        beginning.deliver()
        guard !beginning.hasFailed else { return remove(id) }
        guard core.query != nil, let place = trees[core.namespace]?.place(core.path),
            let own = place.groups.values.first(where: { $0.listeners[id] != nil })
        else { return core.begin(at: beginning.version) }
        own.begin(at: beginning.version, beginning.matches ?? [])
        core.begin(at: beginning.version)
        if own.isOutdated { outdated[ObjectIdentifier(own)] = (core.namespace, own) }
        updateGroups()
        // All groups have the same version now. The update may have ended this one.
        guard cores[id] != nil,
            let shared = place.groups.values.first(where: { $0 !== own && !$0.isStarting && $0.query == own.query })
        else { return }
        shared.listeners[id] = core
        place.groups[ObjectIdentifier(own)] = nil
    }

    private func remove(_ id: UInt64) {
        guard let core = cores.removeValue(forKey: id) else { return }
        hub.removed()
        guard let tree = trees[core.namespace], let place = tree.place(core.path) else { return }
        place.listeners[id] = nil
        for (key, group) in place.groups where group.listeners.removeValue(forKey: id) != nil {
            if group.listeners.isEmpty {
                place.groups[key] = nil
                outdated[key] = nil
            }
        }
        tree.tidy(core.path)
        if tree.isEmpty { trees[core.namespace] = nil }
    }

    // MARK: Commits

    private func deliver(_ commits: [RealtimeCommitFeed], upTo version: Int64) {
        for commit in commits {
            guard let tree = trees[commit.namespace] else { continue }
            deliver(commit, to: tree)
        }
        position = max(position, version)
    }

    private func deliver(_ commit: RealtimeCommitFeed, to tree: ListenerTree) {
        var places: [(place: ListenerTree.Place, changes: [RealtimeChange])] = []
        var indices: [ObjectIdentifier: Int] = [:]
        for applied in commit.changes {
            tree.visit(applied) { place, change in
                if let index = indices[ObjectIdentifier(place)] {
                    places[index].changes.append(change)
                } else {
                    indices[ObjectIdentifier(place)] = places.count
                    places.append((place, [change]))
                }
            }
        }
        for (place, changes) in places {
            if !place.listeners.isEmpty {
                let push = RealtimePush(at: place.path, changes, version: commit.version)
                for listener in place.listeners.values { listener.push(push) }
            }
            for (key, group) in place.groups {
                for change in changes { group.add(change, version: commit.version) }
                if !group.isStarting { outdated[key] = (commit.namespace, group) }
            }
        }
    }

    // MARK: Queries

    /// Brings all windows to the state of one snapshot, once the commits up to it have come.
    private func updateGroups() {
        guard !outdated.isEmpty else { return }
        do {
            try session.read { snapshot in
                guard bringCommits(upTo: snapshot.version) else { return }
                let catalog = try catalogs.catalog(of: snapshot)
                let groups = outdated
                outdated = [:]
                var states: [String: QueryState] = [:]
                for (namespace, group) in groups.values {
                    let state =
                        states[namespace]
                        ?? QueryState(RealtimeSnapshot(catalog.namespaces[namespace], in: snapshot, limits: limits))
                    states[namespace] = state
                    update(group, in: namespace, from: state)
                }
            }
        } catch {
            let groups = outdated.values.map(\.group)
            outdated = [:]
            for group in groups { end(group, RealtimeFailure(from: error)) }
        }
    }

    private func update(_ group: QueryGroup, in namespace: String, from state: QueryState) {
        do {
            if let push = try group.update(from: state) { group.push(push) }
        } catch let failure as RealtimeFailure where failure.code == .tooManyNodes || failure.code == .tooLarge {
            group.restart()
            refreshing += 1
            hub.refresh(group, in: namespace, of: group.listeners.values.first?.caller)
        } catch {
            end(group, RealtimeFailure(from: error))
        }
    }

    private func refreshed(
        _ group: QueryGroup, in namespace: String, _ result: Result<QueryResult, RealtimeFailure>
    ) {
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
            group.begin(at: result.version, result.matches)
            let change = RealtimeChange(RealtimeTarget(.root), result.node)
            group.push(RealtimePush(at: group.path, [change], version: result.version))
            if group.isOutdated { outdated[ObjectIdentifier(group)] = (namespace, group) }
        }
    }

    private func end(_ group: QueryGroup, _ failure: RealtimeFailure) {
        for listener in Array(group.listeners.values) {
            listener.failed(failure)
            remove(listener.id)
        }
    }

    /// Delivers the commits up to a version, which are durable, and leaves all else for later.
    ///
    /// - Returns: false if they don't come, because the pipeline has ended.
    private func bringCommits(upTo version: Int64) -> Bool {
        var later = IndexedQueue<HubJob>()
        defer {
            while let job = backlog.popFirst() { later.append(job) }
            backlog = later
        }
        while position < version {
            guard let job = backlog.popFirst() else {
                guard take() else { return false }
                continue
            }
            switch job {
            case .commits(let commits, let upTo): deliver(commits, upTo: upTo)
            // Later, it would miss the commits behind it.
            case .add(let core): add(core)
            case .completion, .decision, .begin, .refreshed, .remove, .settled: later.append(job)
            }
        }
        return true
    }
}
