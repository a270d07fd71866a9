import CommitPipeline
import DocumentModel
import Synchronization

/// A job for the listeners' thread.
enum ListenerJob: Sendable {
    /// A listener whose first event is ready.
    case add(ListenerCore)
    case remove(UInt64)
    /// All commits up to a version, durable and in order, and the number of bytes that they hold.
    case changes([RecentChanges.Entry], upTo: Int64, bytes: Int)
    /// Commits were left out because too many were waiting; they are in the log.
    case behind
}

/// All listeners, and the queue of the thread that delivers changes to them.
final class ListenerHub: Sendable {
    private struct Registry {
        var mailboxes: [UInt64: ListenerMailbox] = [:]
        var byOwner: [UInt64: Set<UInt64>] = [:]
        var windows: WindowBytes
        var nextID: UInt64 = 0
        var refusal: DocumentError?
    }

    let jobs = JobQueue<ListenerJob>()
    private let configuration: StoreConfiguration
    private let registry: Mutex<Registry>
    private let active = Atomic<Int>(0)
    private let backlog = Atomic<Int>(0)
    private let isBehind = Atomic<Bool>(false)
    private let version = Atomic<Int64>(0)
    private let unread = UnreadBytes()
    /// What all listeners listen to.
    let targets: TargetMemory
    /// The groups that have news since the last round.
    private let signalled = Mutex<[ObjectIdentifier: ListenerGroup]>([:])

    init(configuration: StoreConfiguration) {
        self.configuration = configuration
        let windows = WindowBytes(
            limit: configuration.maxWindowBytes, perClient: configuration.maxWindowBytesPerClient)
        registry = Mutex(Registry(windows: windows))
        targets = TargetMemory(limit: configuration.maxTargetBytes, perClient: configuration.maxTargetBytesPerClient)
    }

    /// The time up to which all listeners have received their events.
    var position: Timestamp { Timestamp(microseconds: version.load(ordering: .sequentiallyConsistent)) }

    var count: Int { active.load(ordering: .sequentiallyConsistent) }

    // MARK: Listeners

    /// The number of listeners, and what waits for their readers.
    var figures: (listeners: Int, unreadBytes: Int) { (registry.withLock { $0.mailboxes.count }, unread.count) }

    /// - Throws: `unavailable` if there are too many, `resourceExhausted` if the client has too many.
    func register(
        _ context: OperationContext, onNews: (@Sendable (_ isEnd: Bool) -> Void)? = nil
    ) throws(DocumentError) -> ListenerMailbox {
        let owner = context.owner
        return try registry.withLock { registry throws(DocumentError) in
            if let refusal = registry.refusal { throw refusal }
            guard registry.mailboxes.count < configuration.maxListeners else {
                throw DocumentError(
                    .unavailable, "\(configuration.maxListeners) listeners are open, the limit; retry later")
            }
            if context.policy != nil, let owner {
                // The fewer places are left, the fewer may one client have: a user with many devices, or those behind one
                // address, are refused only where they would crowd out others.
                let own = registry.byOwner[owner]?.count ?? 0
                let free = configuration.maxListeners - registry.mailboxes.count
                let limit = min(configuration.maxListenersPerClient, max((free + own) / 4, 100))
                guard own < limit else {
                    throw DocumentError(
                        .resourceExhausted, "a client may have \(limit) listeners at the moment, the limit; end one")
                }
            }
            registry.nextID += 1
            let mailbox = ListenerMailbox(
                id: registry.nextID, owner: owner, maxEvents: configuration.maxListenerEvents,
                maxBytes: configuration.maxListenerBytes, unread: unread, onNews: onNews)
            registry.mailboxes[mailbox.id] = mailbox
            if let owner { registry.byOwner[owner, default: []].insert(mailbox.id) }
            // From here on commits are passed on, before a snapshot for the listener is taken.
            active.add(1, ordering: .sequentiallyConsistent)
            return mailbox
        }
    }

    func end(_ id: UInt64, _ end: ListenerQueue.End) {
        let mailbox = registry.withLock { registry -> ListenerMailbox? in
            guard let mailbox = registry.mailboxes.removeValue(forKey: id) else { return nil }
            if let owner = mailbox.owner {
                registry.byOwner[owner]?.remove(id)
                if registry.byOwner[owner]?.isEmpty ?? false { registry.byOwner[owner] = nil }
            }
            registry.windows.remove(id)
            return mailbox
        }
        guard let mailbox else { return }
        mailbox.end(end)
        // If the queue is closed, the thread has nothing to remove.
        _ = jobs.put(.remove(id))
        // After the removal: the thread would miss commits while it has a listener.
        active.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// Passes on a listener whose first event is ready. Until the thread takes it, the event and the listener's window
    /// count as unread.
    ///
    /// - Throws: `unavailable` if too many bytes wait, or as ``noteWindow(of:)``.
    func add(_ core: ListenerCore) throws(DocumentError) {
        try noteWindow(of: core)
        let size = core.untakenBytes
        unread.add(size)
        endLargest()
        guard unread.count <= max(configuration.maxUnreadBytes, size) else {
            unread.add(-size)
            throw DocumentError(
                .unavailable,
                "\(configuration.maxUnreadBytes / 1_048_576) MiB wait for listeners, the limit; retry later")
        }
        guard jobs.put(.add(core)) else {
            unread.add(-size)
            throw CommitPipeline.shutDown
        }
    }

    /// Records the size of a listener's window, if it has changed.
    ///
    /// - Throws: as ``WindowBytes/set(_:of:client:)``.
    func noteWindow(of core: ListenerCore) throws(DocumentError) {
        guard case .window(let window) = core.target, window.bytes != core.notedBytes else { return }
        let mailbox = core.mailbox
        try registry.withLock { registry throws(DocumentError) in
            // A listener that has ended holds no window.
            guard registry.mailboxes[mailbox.id] != nil else { return }
            let client = core.policy == nil ? nil : mailbox.owner
            try registry.windows.set(window.bytes, of: mailbox.id, client: client)
        }
        core.notedBytes = window.bytes
    }

    /// Called when the thread has taken a listener.
    func took(_ core: ListenerCore) { unread.add(-core.untakenBytes) }

    /// If more bytes wait for all readers than allowed, makes the listeners with the most waiting bytes start over.
    func endLargest() {
        guard unread.count > configuration.maxUnreadBytes else { return }
        let mailboxes = registry.withLock { Array($0.mailboxes.values) }
        let sized = mailboxes.map { (id: $0.id, bytes: $0.unreadBytes) }.filter { $0.bytes > 0 }
        // Goes below the limit, so that the next event doesn't exceed it again at once.
        for largest in sized.sorted(by: { $0.bytes > $1.bytes })
        where unread.count > configuration.maxUnreadBytes / 4 * 3 {
            end(
                largest.id,
                .startOver("more waits for all listeners than may, the limit, and this one is among the slowest"))
        }
    }

    func release(owner: UInt64) {
        let ids = registry.withLock { $0.byOwner[owner] ?? [] }
        let error = DocumentError(.cancelled, "the client of the listener is gone")
        for id in ids { end(id, .failed(error)) }
    }

    /// Ends all listeners and the thread.
    func close(_ error: DocumentError) {
        let ids = registry.withLock { registry in
            registry.refusal = error
            return Array(registry.mailboxes.keys)
        }
        for id in ids { end(id, .failed(error)) }
        jobs.close()
    }

    // MARK: Commits

    /// Passes on all durable commits up to a version, without waiting. Costs nothing if there are no listeners.
    func offer(_ commits: [[RecentChanges.Entry]], upTo version: Int64) {
        guard count > 0 else { return }
        let changes = commits.count == 1 ? commits[0] : Array(commits.joined())
        let bytes = changes.reduce(0) { $0 + $1.heldBytes }
        guard backlog.load(ordering: .relaxed) + bytes <= configuration.maxListenerBacklog else {
            if !isBehind.exchange(true, ordering: .sequentiallyConsistent) { _ = jobs.put(.behind) }
            return
        }
        backlog.add(bytes, ordering: .relaxed)
        _ = jobs.put(.changes(changes, upTo: version, bytes: bytes))
    }

    /// Called when the thread has handled commits that were passed on.
    func done(bytes: Int) { backlog.subtract(bytes, ordering: .relaxed) }

    /// Called when the thread begins to read the log: commits left out later must be reported again.
    func catchesUp() { isBehind.store(false, ordering: .sequentiallyConsistent) }

    // MARK: Groups

    /// Signals a group once the listeners' thread has finished its round.
    func signalAfterRound(_ group: ListenerGroup) {
        signalled.withLock { $0[ObjectIdentifier(group)] = group }
    }

    func signalGroups() {
        let groups = signalled.withLock { signalled in
            defer { signalled = [:] }
            return Array(signalled.values)
        }
        for group in groups { group.signal() }
    }

    func advance(to version: Int64) { self.version.store(version, ordering: .sequentiallyConsistent) }
}
