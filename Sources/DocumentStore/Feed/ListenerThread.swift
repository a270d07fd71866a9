import CommitPipeline
import StorageEngine
import DocumentModel

/// The thread that finds the listeners a commit concerns and delivers the changes, so that the writer never waits for
/// it.
///
/// It handles commits in rounds: all that wait at the time. After each round all listeners are at the same version.
final class ListenerThread: @unchecked Sendable {
    // Everything here is used only by the thread that calls `run`.
    private let parts: DocumentParts
    private let hub: ListenerHub
    private let session: SnapshotSession
    private var cores: [UInt64: ListenerCore] = [:]
    private var table = ListenerTable<ListenerCore>()
    private var refillTimes = RefillTimes()
    private var deliveryTimes = RefillTimes()
    /// What refills took of the event that is being found out.
    private var refilled: Duration = .zero
    /// The version up to which all listeners have received their events.
    private var position: Int64 = 0

    init(_ parts: DocumentParts, _ session: SnapshotSession) {
        self.parts = parts
        self.session = session
        hub = parts.listeners
    }

    func run() {
        while let jobs = hub.jobs.take() { process(jobs) }
    }

    private func process(_ jobs: [ListenerJob]) {
        var waiting: [RecentChanges.Entry] = []
        var (last, bytes) = (position, 0)
        func finishRound() {
            deliver(waiting, upTo: last)
            hub.done(bytes: bytes)
            (waiting, last, bytes) = ([], position, 0)
        }
        for job in jobs {
            if case .changes(let changes, let version, let size) = job {
                waiting += changes
                last = version
                bytes += size
                continue
            }
            finishRound()
            switch job {
            case .add(let core): add(core)
            case .remove(let id): remove(id)
            case .behind: catchUp()
            case .changes: break
            }
        }
        finishRound()
        hub.signalGroups()
    }

    /// One round.
    private func deliver(_ changes: [RecentChanges.Entry], upTo last: Int64) {
        guard last > position else { return }
        // After catching up, some of the changes are already known.
        let changes = changes.filter { $0.version > position }
        let concerned = table.concerned(by: changes)
        var short: [(core: ListenerCore, changes: [DocumentChange])] = []
        var left = LeftDocuments(changes)
        /// - Parameter listeners: on documents, or on one query.
        func deliver(_ indices: [Int], to listeners: some Collection<ListenerCore>) {
            let entries = indices.map { changes[$0] }
            let all = DocumentChange.folded(entries.map(\.change))
            var shared: [SizedEvent]?
            for core in listeners {
                // In most rounds no listener has begun.
                let isLater = (entries.first?.version ?? 0) <= core.start
                let own =
                    isLater ? DocumentChange.folded(entries.filter { $0.version > core.start }.map(\.change)) : all
                guard !own.isEmpty else { continue }
                // Listeners that need a read come last, so that the others don't wait for it.
                if isShort(core, after: own) {
                    short.append((core, own))
                } else if case .query = core.target, !isLater, !core.dependsOnResult {
                    // What changes is the same for all listeners on a query without a limit.
                    let events = shared ?? self.events(core, own, at: last, for: listeners)
                    shared = events
                    if let events { push(events, to: core, &left) }
                } else if let events = self.events(core, own, at: last, for: CollectionOfOne(core)) {
                    push(events, to: core, &left)
                }
            }
        }
        // A listener that ends is removed meanwhile.
        for (followers, indices) in concerned.queries.values { deliver(indices, to: followers.listeners.values) }
        for (listener, indices) in concerned.documents.values { deliver(indices, to: CollectionOfOne(listener)) }
        for (core, changes) in short {
            if let events = events(core, changes, at: last, for: CollectionOfOne(core)) {
                push(events, to: core, &left)
            }
        }
        advance(to: last)
    }

    /// Whether a listener's window must be read again after changes. Finding that out is part of the delivery.
    private func isShort(_ core: ListenerCore, after changes: [DocumentChange]) -> Bool {
        guard case .window = core.target else { return false }
        let start = parts.elapsed()
        defer { deliveryTimes.spend(parts.elapsed() - start, for: core.refiller) }
        // One that has no time left ends, whatever its window lacks.
        return deliveryTimes.left(of: parts.configuration.maxDeliveryTime, for: core.refiller, at: start) > .zero
            && core.target.isShort(after: changes)
    }

    /// What a listener receives for changes; nil if it has ended instead.
    ///
    /// - Parameter listeners: all that receive the same, each of which pays its part.
    private func events(
        _ core: ListenerCore, _ changes: [DocumentChange], at version: Int64,
        for listeners: some Collection<ListenerCore>
    ) -> [SizedEvent]? {
        let start = parts.elapsed()
        guard deliveryTimes.left(of: parts.configuration.maxDeliveryTime, for: core.refiller, at: start) > .zero else {
            end(core.mailbox.id, after: deliveryExceeded)
            return nil
        }
        refilled = .zero
        defer {
            // Refills have a limit of their own.
            let part = (parts.elapsed() - start - refilled) / listeners.count
            for listener in listeners { deliveryTimes.spend(part, for: listener.refiller) }
        }
        do {
            return try event(core, changes, at: version).map { [SizedEvent($0)] } ?? []
        } catch {
            end(core.mailbox.id, after: error)
            return nil
        }
    }

    private var deliveryExceeded: DocumentError {
        DocumentError(
            .failedPrecondition,
            "the changes for one client's listeners took more than \(parts.configuration.maxDeliveryTime) within a "
                + "minute, the limit; start over")
    }

    /// - Parameter events: shared with other listeners, which may have other documents than this one.
    private func push(_ events: [SizedEvent], to core: ListenerCore, _ left: inout LeftDocuments) {
        guard !events.isEmpty else { return }
        let events = events.map { event in
            left.added(to: event, of: core.target) { isAllowed($0, for: core) }
        }
        guard core.mailbox.push(events) else { return end(core.mailbox.id, .cancelled) }
        hub.endLargest()
    }

    /// Whether a listener may have a document by itself: its query, which is allowed, no longer has it.
    ///
    /// - Returns: also false if that isn't found out without other documents, and soon.
    private func isAllowed(_ document: Document, for core: ListenerCore) -> Bool {
        guard let policy = core.policy else { return true }
        let start = parts.elapsed()
        // The rest is for what must be delivered: without it, the listener would end.
        let limit = parts.configuration.maxDeliveryTime / 2
        guard deliveryTimes.left(of: limit, for: core.refiller, at: start) > .zero else { return false }
        defer { deliveryTimes.spend(parts.elapsed() - start, for: core.refiller) }
        return parts.mayGet(document, by: policy)
    }

    /// The effect of changes, one for each document, on a listener; nil if there is none.
    private func event(_ core: ListenerCore, _ changes: [DocumentChange], at version: Int64) throws -> ListenEvent? {
        let effect = try core.target.apply(changes) { query in
            let start = parts.elapsed()
            let limit = parts.configuration.maxRefillTime
            let left = refillTimes.left(of: limit, for: core.refiller, at: start)
            let exceeded = DocumentError(
                .failedPrecondition,
                "filling limited results of listeners again took more than \(limit) within a minute, the limit; start "
                    + "over")
            guard left > .zero else { throw exceeded }
            defer {
                let time = parts.elapsed() - start
                refilled += time
                refillTimes.spend(time, for: core.refiller)
            }
            let limits = QueryLimits(entries: .max, documents: .max, time: left)
            let meter = QueryMeter(limits, elapsed: parts.elapsed) { _, _ in exceeded }
            return try read(at: version) { view in
                try query.run(in: view, within: ReadBudget(parts.configuration.maxReadBytes), meter: meter)
            }
        }
        try hub.noteWindow(of: core)
        guard !effect.isEmpty else { return nil }
        try decideAgain(core, effect, at: version)
        if case .window(let window) = core.target {
            guard window.bytes / 2 <= parts.configuration.maxReadBytes else {
                throw DocumentError(
                    .resourceExhausted,
                    "the part of the result that the listener's limit leaves has become larger than one answer may be")
            }
        }
        return .changes(effect, at: Timestamp(microseconds: version))
    }

    /// Asks the policy about changes: always of documents, and of a query's result if it has looked at that before.
    private func decideAgain(_ core: ListenerCore, _ effect: [ListenChange], at version: Int64) throws {
        guard let policy = core.policy else { return }
        let query: Query? =
            switch core.target {
            case .documents: nil
            case .query(let query): query.query
            case .window(let window): window.query.query
            }
        guard query == nil || core.dependsOnResult else { return }
        let left = deliveryTimes.left(of: parts.configuration.maxDeliveryTime, for: core.refiller, at: parts.elapsed())
        let limits = QueryLimits(entries: .max, documents: .max, time: left)
        let meter = QueryMeter(limits, elapsed: parts.elapsed) { _, _ in self.deliveryExceeded }
        try read(at: version) { view in
            let access = parts.accessView(view)
            for change in effect {
                let document: Document? = if case .removed = change { nil } else { change.document }
                if let query {
                    // What leaves the result shows nothing new.
                    guard let document else { continue }
                    // A projection has only some of the fields.
                    guard let whole = try query.projection == nil ? document : view.document(document.path) else {
                        throw DocumentError(.dataLoss, "\(document.path) is missing")
                    }
                    try policy.check(.listed(whole, by: query), in: access)
                } else {
                    try policy.check(.get(change.document.path, document), in: access)
                }
                try meter.noteDecision()
            }
        }
    }

    private func add(_ core: ListenerCore) {
        let id = core.mailbox.id
        hub.took(core)
        // The listener may have ended before the thread took it.
        guard !core.mailbox.isEnded else { return }
        do {
            var events = core.takeFirst().map { SizedEvent($0) }
            guard !events.isEmpty else { return }
            if position > core.start {
                let changes = try session.read { snapshot in
                    try ChangeLog.difference(
                        after: core.start, upTo: position, atMostBytes: parts.configuration.maxReadBytes,
                        in: snapshot.storage, QueryMeter(), covers: core.target.covers)
                }
                guard let changes else {
                    return end(id, .startOver("more has changed while the listener began than one answer may hold"))
                }
                if let event = try event(core, changes, at: position) {
                    var left = LeftDocuments(changes)
                    events.append(left.added(to: SizedEvent(event), of: core.target) { isAllowed($0, for: core) })
                }
            }
            guard core.mailbox.push(events) else { return end(id, .cancelled) }
            hub.endLargest()
            // Without listeners no commits were passed on.
            if cores.isEmpty, position < core.start { advance(to: core.start) }
            cores[id] = core
            table.insert(core, id, on: core.target)
        } catch {
            end(id, after: error)
        }
    }

    private func remove(_ id: UInt64) {
        guard let core = cores.removeValue(forKey: id) else { return }
        table.remove(id, on: core.target)
    }

    /// Continues from the log, because commits were left out.
    private func catchUp() {
        hub.catchesUp()
        do {
            guard !cores.isEmpty else {
                // Listeners that are added later catch up from where they began.
                return advance(to: try session.read { max($0.version, position) })
            }
            var isLast = false
            while !isLast {
                // Delivering may read too, so the page's read must have ended.
                let page = try session.read { snapshot in
                    try ChangeLog.page(
                        after: position, snapshot: snapshot.version, atMostBytes: DocumentStore.defaultPageBytes,
                        in: snapshot.storage)
                }
                isLast = page.isLast
                // One round for all commits; otherwise each would need its own read of the past.
                let changes = page.commits.flatMap { commit in
                    commit.changes.map {
                        RecentChanges.Entry($0, version: commit.time.microseconds, storedBytes: 0, weight: 0)
                    }
                }
                deliver(changes, upTo: page.position.microseconds)
                // There may be many pages, and what waits for one member is bounded.
                hub.signalGroups()
            }
        } catch {
            for id in Array(cores.keys) { end(id, after: error) }
        }
    }

    private func read<Result>(at version: Int64, _ body: (DocumentView) throws -> Result) throws -> Result {
        try session.read { snapshot in
            try ChangeLog.checkReach(to: version, snapshot: snapshot.version, in: snapshot.storage)
            let view = try parts.view(of: snapshot)
            return try body(ReadState(view, of: snapshot.version, at: version, PastLookup(parts, [])).view)
        }
    }

    private func advance(to version: Int64) {
        position = version
        hub.advance(to: version)
    }

    /// If the log no longer reaches back far enough, or is damaged, starting over helps. If a document is damaged, that
    /// fails.
    private func end(_ id: UInt64, after error: any Error) {
        let error = DocumentError(from: error)
        let mayStartOver = error.code == .failedPrecondition || error.code == .dataLoss
        end(id, mayStartOver ? .startOver(error.message) : .failed(error))
    }

    private func end(_ id: UInt64, _ end: ListenerQueue.End) {
        hub.end(id, end)
        remove(id)
    }
}
