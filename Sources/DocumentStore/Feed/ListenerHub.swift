import CommitPipeline
import DocumentModel
import Synchronization

/// What the listeners' thread does.
enum ListenerJob: Sendable {
    /// A listener whose first event is ready.
    case add(ListenerCore)
    case remove(UInt64)
    /// All commits up to a version, durable and in order, and how many bytes they hold.
    case changes([RecentChanges.Entry], upTo: Int64, bytes: Int)
    /// Commits that were left out because too many waited; the log has them.
    case behind
}

/// All listeners there are, and the way to the thread that tells them what happens.
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

    init(configuration: StoreConfiguration) {
        self.configuration = configuration
        let windows = WindowBytes(
            limit: configuration.maxWindowBytes, perClient: configuration.maxWindowBytesPerClient)
        registry = Mutex(Registry(windows: windows))
    }

    /// Up to when all listeners have been told what happened.
    var position: Timestamp { Timestamp(microseconds: version.load(ordering: .sequentiallyConsistent)) }

    var count: Int { active.load(ordering: .sequentiallyConsistent) }

    // MARK: Listeners

    /// - Throws: `resourceExhausted` where there are too many.
    func register(_ context: OperationContext) throws(DocumentError) -> ListenerMailbox {
        let owner = context.owner
        return try registry.withLock { registry throws(DocumentError) in
            if let refusal = registry.refusal { throw refusal }
            guard registry.mailboxes.count < configuration.maxListeners else {
                throw DocumentError(
                    .resourceExhausted, "\(configuration.maxListeners) listeners are open, the limit; try again later")
            }
            if context.policy != nil, let owner {
                guard registry.byOwner[owner]?.count ?? 0 < configuration.maxListenersPerClient else {
                    throw DocumentError(
                        .resourceExhausted,
                        "a client may have \(configuration.maxListenersPerClient) listeners, the limit; end one")
                }
            }
            registry.nextID += 1
            let mailbox = ListenerMailbox(
                id: registry.nextID, owner: owner, maxEvents: configuration.maxListenerEvents,
                maxBytes: configuration.maxListenerBytes, unread: unread)
            registry.mailboxes[mailbox.id] = mailbox
            if let owner { registry.byOwner[owner, default: []].insert(mailbox.id) }
            // From here on commits are handed over, before a snapshot for the listener is taken.
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
            active.subtract(1, ordering: .sequentiallyConsistent)
            return mailbox
        }
        guard let mailbox else { return }
        mailbox.end(end)
        // Where the queue is closed the thread has nothing to forget.
        _ = jobs.put(.remove(id))
    }

    /// Hands a listener over whose first event is ready, which counts as unread from here on, and what it keeps too
    /// until the thread has taken it.
    ///
    /// - Throws: `resourceExhausted` where too much waits, or is kept.
    func add(_ core: ListenerCore) throws(DocumentError) {
        try noteWindow(of: core)
        let size = core.untakenBytes
        unread.add(size)
        endLargest()
        guard unread.count <= max(configuration.maxUnreadBytes, size) else {
            unread.add(-size)
            throw DocumentError(
                .resourceExhausted,
                "\(configuration.maxUnreadBytes / 1_048_576) MiB wait for listeners, the limit; try again later")
        }
        guard jobs.put(.add(core)) else {
            unread.add(-size)
            throw CommitPipeline.shutDown
        }
    }

    /// Notes what a listener keeps, where that has changed.
    ///
    /// - Throws: `resourceExhausted` where it is more than may be kept.
    func noteWindow(of core: ListenerCore) throws(DocumentError) {
        guard case .window(let window) = core.target, window.bytes != core.notedBytes else { return }
        let mailbox = core.mailbox
        try registry.withLock { registry throws(DocumentError) in
            // What has ended keeps nothing.
            guard registry.mailboxes[mailbox.id] != nil else { return }
            let client = core.policy == nil ? nil : mailbox.owner
            try registry.windows.set(window.bytes, of: mailbox.id, client: client)
        }
        core.notedBytes = window.bytes
    }

    /// The thread has taken a listener.
    func took(_ core: ListenerCore) { unread.add(-core.untakenBytes) }

    /// Where more waits for all readers than may, those that hold back most start over.
    func endLargest() {
        guard unread.count > configuration.maxUnreadBytes else { return }
        let mailboxes = registry.withLock { Array($0.mailboxes.values) }
        let sized = mailboxes.map { (id: $0.id, bytes: $0.unreadBytes) }.filter { $0.bytes > 0 }
        // Somewhat below, so that the next one isn't too much again.
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

    /// Hands all durable commits up to a version over, without waiting. Costs nothing where nobody listens.
    func offer(_ commits: [[RecentChanges.Entry]], upTo version: Int64) {
        guard count > 0 else { return }
        let changes = commits.count == 1 ? commits[0] : Array(commits.joined())
        let bytes = changes.reduce(0) { $0 + $1.bytes }
        guard backlog.load(ordering: .relaxed) + bytes <= configuration.maxListenerBacklog else {
            if !isBehind.exchange(true, ordering: .sequentiallyConsistent) { _ = jobs.put(.behind) }
            return
        }
        backlog.add(bytes, ordering: .relaxed)
        _ = jobs.put(.changes(changes, upTo: version, bytes: bytes))
    }

    /// The thread has dealt with commits that were handed over.
    func done(bytes: Int) { backlog.subtract(bytes, ordering: .relaxed) }

    /// The thread reads the log from now on: what is left out later has to be told anew.
    func catchesUp() { isBehind.store(false, ordering: .sequentiallyConsistent) }

    func advance(to version: Int64) { self.version.store(version, ordering: .sequentiallyConsistent) }
}
