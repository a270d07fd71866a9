import CommitPipeline
import RealtimeModel
import StorageEngine
import Synchronization

/// A job for the listeners' thread.
enum HubJob: Sendable {
    /// A commit, which is durable. They come in their order, each before the answer to its caller.
    case commit(RealtimeCommitFeed)
    /// There are turns, which may take too long.
    case wake
    /// All commits up to a version have come.
    case reached(Int64)
    /// An answer to a caller, which must not come before the effects of the commits up to a version.
    case completion(at: Int64?, @Sendable () -> Void)
    /// As a completion, of a conditional write by a client.
    case decision([StaleTurns.Place], stale: StaleTurns.Place?, client: RetryingClient, @Sendable () -> Void)
    case add(ListenerCore)
    /// A listener's initial data were read.
    case begin(UInt64, ListenerBeginning)
    /// The whole result of a group's query was read.
    case refreshed(namespace: String, QueryGroup, Result<QueryResult, RealtimeFailure>)
    case remove(UInt64)
    /// Called back once no group waits for its query's result.
    case settled(@Sendable () -> Void)
}

/// The initial data of a listener.
struct ListenerBeginning: Sendable {
    /// The version of the data.
    var version: Int64
    /// The query's matches; nil if the listener has no query.
    var matches: [RealtimeIndexEntry]?
    /// Why the listener can't begin, and ends.
    var failure: RealtimeFailure?
    /// Delivers the initial data, or the failure.
    var deliver: @Sendable (_ failure: RealtimeFailure?) -> Void
}

/// The queue of the thread that delivers commits to listeners, and answers to callers: so each caller's answers and
/// each listener's changes come in the order of commits, and the writer waits for neither.
final class RealtimeHub: Sendable {
    let jobs = JobQueue<HubJob>()
    private let pipeline: CommitPipeline
    let elapsed: @Sendable () -> Duration
    private let catalogs: CatalogCache
    private let limits: RealtimeReadLimits
    private let threads = Mutex(ThreadGroups())
    private let lastID = Atomic<UInt64>(0)
    private let listeners = Atomic<Int>(0)
    private let queries = Atomic<Int>(0)
    private let turns = Mutex(StaleTurns(limit: .milliseconds(100)))
    /// Whether there are any, so that most conditional writes needn't lock them.
    private let turnsExist = Atomic(false)

    private static let threadName = "realtime.listeners"

    private let windowLimits: RealtimeReadLimits
    private let maxReloadedBytes: Int
    private let maxRefreshedBytes: Int
    private let windows: WindowBudget

    init(_ pipeline: CommitPipeline, _ catalogs: CatalogCache, _ configuration: RealtimeStoreConfiguration) {
        self.pipeline = pipeline
        elapsed = pipeline.elapsed
        self.catalogs = catalogs
        limits = configuration.limits
        windowLimits = configuration.windowLimits
        maxReloadedBytes = configuration.maxReloadedBytes
        maxRefreshedBytes = configuration.maxRefreshedBytes
        windows = WindowBudget(
            limit: configuration.maxWindowEntries, callerLimit: configuration.maxCallerWindowEntries)
    }

    /// - Throws: `StorageError` if no reader can be opened; `SystemThread.Refused` if the system refuses the thread.
    func start() throws {
        let session = SnapshotSession(try pipeline.engine.makeReadSession())
        let thread = HubThread(
            self, session, catalogs, limits: windowLimits, maxReloadedBytes: maxReloadedBytes, windows: windows,
            position: pipeline.openedVersion, elapsed: pipeline.elapsed)
        try threads.withLock { try $0.start(Self.threadName) { thread.run() } }
    }

    func shutDown() async {
        jobs.close()
        await threads.withLock { $0.end(of: Self.threadName) }.wait()
    }

    /// Hands over commits and answers in their order. If the thread has ended, the answers are given at once.
    func publish(_ items: [HubJob]) {
        guard !items.isEmpty, !jobs.put(contentsOf: items) else { return }
        for item in items {
            switch item {
            case .completion(_, let completion), .decision(_, _, _, let completion): completion()
            default: break
            }
        }
    }

    /// Calls back after the effects of the commits before were delivered.
    ///
    /// - Parameter version: also of the commits up to this version, which are durable.
    func complete(at version: Int64? = nil, _ completion: @escaping @Sendable () -> Void) {
        if !jobs.put(.completion(at: version, completion)) { completion() }
    }

    /// Calls back as ``complete(at:_:)`` does, and if one of the places is stale, when it is the client's turn to retry.
    func complete(
        _ places: [StaleTurns.Place], stale: StaleTurns.Place?, of client: RetryingClient,
        _ completion: @escaping @Sendable () -> Void
    ) {
        if !jobs.put(.decision(places, stale: stale, client: client, completion)) { completion() }
    }

    // MARK: Turns

    /// Calls back once a client may write a place on a condition: see ``StaleTurns/admit(_:to:_:)``.
    func admit(_ client: RetryingClient, to place: StaleTurns.Place, _ proceed: @escaping @Sendable () -> Void) {
        guard hasTurns else { return proceed() }
        turns.withLock { $0.admit(client.id, to: place, proceed) }?()
    }

    /// Whether some clients take turns at conditional writes.
    var hasTurns: Bool { turnsExist.load(ordering: .relaxed) }

    /// Answers the clients whose turn it is after a decision.
    func decide(
        _ places: [StaleTurns.Place], stale: StaleTurns.Place?, of client: RetryingClient,
        _ completion: @escaping @Sendable () -> Void
    ) {
        let now = elapsed()
        let (answers, isFirst) = changeTurns { turns in
            let wasEmpty = turns.isEmpty
            let answers = turns.decided(places, stale: stale, of: client, at: now, completion)
            return (answers, wasEmpty && !turns.isEmpty)
        }
        // The thread ends turns that take too long. Those after the first one end later.
        if isFirst { _ = jobs.put(.wake) }
        for answer in answers { answer() }
    }

    /// Changes the turns.
    func changeTurns<Result: Sendable>(_ change: (inout StaleTurns) -> Result) -> Result {
        turns.withLock { turns in
            // Before a client that has a turn now can commit.
            defer { turnsExist.store(!turns.isEmpty, ordering: .relaxed) }
            return change(&turns)
        }
    }

    /// When the next turn ends; nil if there is none.
    var nextDeadline: Duration? { hasTurns ? turns.withLock { $0.nextDeadline } : nil }

    // MARK: Listeners

    /// Whether there are listeners to queries, for which the state between two commits is looked at.
    var hasQueries: Bool { queries.load(ordering: .relaxed) > 0 }

    /// The number of listeners.
    var listenerCount: Int { listeners.load(ordering: .relaxed) }

    /// Whether a caller without listeners that has written may be answered before other callers' listeners have the change.
    ///
    /// With thousands of listeners the answer would wait long. With few, they have the change first: an app with two
    /// clients may rely on that, although nothing promises it.
    var letsAnswersOvertake: Bool {
        let count = listenerCount
        return count == 0 || count > Self.fewListeners
    }

    private static let fewListeners = 1_000

    /// Whether decisions on conditional writes of callers without listeners may be answered before listeners have the change.
    ///
    /// Each may give a turn to a client that listens, and would then write again without having been sent what made its write
    /// stale.
    var letsDecisionsOvertake: Bool { listenerCount == 0 || (letsAnswersOvertake && !hasTurns) }

    func makeID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

    func add(_ core: ListenerCore) {
        listeners.add(1, ordering: .relaxed)
        if core.query != nil { queries.add(1, ordering: .relaxed) }
        _ = jobs.put(.add(core), isUrgent: false)
    }

    func begin(_ id: UInt64, _ beginning: ListenerBeginning) {
        if !jobs.put(.begin(id, beginning)) { beginning.deliver(beginning.failure) }
    }

    /// Reads the whole result of a group's query. If it is too large for one push, the group's listeners end.
    func refresh(_ group: QueryGroup, in namespace: String, of caller: ReadCaller?) {
        let job = QueryRefresh(
            group: group, namespace: namespace, catalogs: catalogs, limits: limits, maxBytes: maxRefreshedBytes
        ) { [jobs] result in
            _ = jobs.put(.refreshed(namespace: namespace, group, result))
        }
        pipeline.read(job, of: caller ?? .maintenance)
    }

    /// Returns once no group waits for its query's result.
    func settle() async {
        await withCheckedContinuation { continuation in
            if !jobs.put(.settled { continuation.resume() }) { continuation.resume() }
        }
    }

    func remove(_ id: UInt64) { _ = jobs.put(.remove(id)) }

    /// Called by the thread for each listener that is gone.
    func removed(_ core: ListenerCore) {
        listeners.subtract(1, ordering: .relaxed)
        if core.query != nil { queries.subtract(1, ordering: .relaxed) }
    }
}
