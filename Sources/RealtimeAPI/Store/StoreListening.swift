import DocumentModel
import RealtimeHashing
import RealtimeModel
import RealtimeStore
import StrictJSON
import Synchronization

/// A listen on the store's tree.
final class StoreListening: RealtimeListening {
    private enum Progress { case starting, open, ended }

    private struct State {
        var principal: RealtimePrincipal
        /// Ends the store's listener; nil until it has begun.
        var cancel: (@Sendable () -> Void)?
        var progress = Progress.starting
        /// How often it was decided whether it is allowed.
        var decisions = 0
        /// What the client has, which may be large; nil once the listen has begun.
        var known: RealtimeListen.Known?
    }

    private let database: StoreRealtimeDatabase
    private let listen: RealtimeListen
    private let client: RealtimeClient
    private let listener: any RealtimeListener
    private let cancellation = OperationCancellation()
    private let count = Atomic(0)
    private let state: Mutex<State>

    init(
        _ database: StoreRealtimeDatabase, _ listen: RealtimeListen, _ principal: RealtimePrincipal,
        _ client: RealtimeClient, _ listener: any RealtimeListener
    ) {
        self.database = database
        self.client = client
        self.listener = listener
        state = Mutex(State(principal: principal, known: listen.known))
        var listen = listen
        listen.known = nil
        self.listen = listen
    }

    var path: RealtimePath { listen.path }
    /// What it began with.
    var bytes: Int { count.load(ordering: .relaxed) }
    private var principal: RealtimePrincipal { state.withLock { $0.principal } }
    private var isEnded: Bool { state.withLock { $0.progress == .ended } }

    func begin() {
        let (database, listen, now) = (database, listen, database.shared.now())
        let (access, observer, principal) = (database.access, database.observer, principal)
        let name = database.name
        let began = database.profiled(operation) {
            [self] (result: Result<RealtimeListenStart, RealtimeServiceError>) in
            switch result {
            case .success(let start):
                let goesOn = state.withLock { state in
                    if state.progress == .starting { state.progress = .open }
                    return state.progress == .open
                }
                if goesOn { listener.receive(.began(start)) }
            case .failure(let error): end(error)
            }
        } bytes: { [self] _ in
            bytes
        }
        let core = database.store.listen(
            to: listen.path, matching: listen.query, in: name, of: database.reader(principal, client, .long),
            cancellation: cancellation,
            read: { [self] state in
                try access.requireRead(of: listen.path, listen.query, as: principal, in: state, now: now, observer)
                return try start(in: state)
            },
            started: { began(StoreRealtimeDatabase.flattened($0, name)) },
            receive: { [self] push in
                guard !isEnded else { return }
                let made = database.pushes.push(for: push) {
                    RealtimePush(push.path, push.changes, version: push.version)
                }
                if database.profile.isWatched, push.isFirstSeen() {
                    database.recordBroadcast(of: made, to: push.listeners)
                }
                listener.receive(.push(made))
            },
            failed: { [self] failure in end(RealtimeServiceError(failure, of: name)) })
        let hasEnded = state.withLock { state in
            state.cancel = { core.cancel() }
            return state.progress == .ended
        }
        if hasEnded { core.cancel() }
    }

    private var operation: ProfiledOperation {
        var operation = ProfiledOperation(.listen, at: listen.path)
        if let query = listen.query, !database.namesIndex(for: query, at: listen.path) {
            operation.unindexed = query.index
        }
        return operation
    }

    private func start(
        in state: RealtimeSnapshot
    ) throws -> Result<RealtimeListenStart, RealtimeServiceError> {
        let error = database.missingIndex(listen.query, listen.path, state)
        if listen.requiresIndex, let error { return .failure(error) }
        let isIndexed = error == nil
        let holder = database.holder(principal, client)
        if let known = self.state.withLock({ $0.known.take() }) {
            if try state.hash(at: listen.path, matching: listen.query) == known.hash {
                return .success(RealtimeListenStart(.unchanged, isIndexed: isIndexed))
            }
            if let compound = known.compound,
                let ranges = try state.ranges(at: listen.path, matching: listen.query, differingFrom: compound),
                !ranges.isEmpty
            {
                var writer = JSONWriter(capacity: 1024)
                writer.realtime(ranges)
                let content = try database.shared.spool.collect(for: holder, until: cancellation) { receive in
                    try receive(writer.bytes)
                }
                return .success(RealtimeListenStart(.ranges(content), isIndexed: isIndexed))
            }
        }
        let content = try database.shared.spool.collect(for: holder, until: cancellation) { receive in
            try state.writeJSON(at: listen.path, matching: listen.query, as: listen.form) { piece in
                count.add(piece.count, ordering: .relaxed)
                try receive(piece)
            }
        }
        return .success(RealtimeListenStart(.value(content), isIndexed: isIndexed))
    }

    func authorize(as principal: RealtimePrincipal, _ completion: @escaping @Sendable () -> Void) {
        state.withLock { $0.principal = principal }
        authorize(completion)
    }

    /// - Returns: the number of a new decision.
    private func beginDecision() -> Int {
        state.withLock { state in
            state.decisions += 1
            return state.decisions
        }
    }

    /// Decides again by the current rules.
    func authorize(_ completion: @escaping @Sendable () -> Void) {
        guard !isEnded else { return completion() }
        let decision = beginDecision()
        let (access, observer, principal) = (database.access, database.observer, principal)
        let (listen, now) = (listen, database.shared.now())
        database.store.read(
            in: database.name, of: database.reader(principal, client, .short),
            { state in
                try access.requireRead(of: listen.path, listen.query, as: principal, in: state, now: now, observer)
            },
            completion: { [self] result in
                // A later decision has been made by newer rules, or for the client that has signed in since.
                let isNewest = state.withLock { $0.decisions == decision }
                if isNewest, case .failure(let failure) = result {
                    end(RealtimeServiceError(failure, of: database.name))
                }
                completion()
            })
    }

    private func end(_ error: RealtimeServiceError) {
        if finish() { listener.receive(.ended(error)) }
    }

    func cancel() { _ = finish() }

    /// - Returns: whether it had not ended before.
    private func finish() -> Bool {
        let (before, cancel) = state.withLock { state in
            defer { state.progress = .ended }
            return (state.progress, state.cancel)
        }
        guard before != .ended else { return false }
        cancellation.cancel()
        cancel?()
        if before == .open {
            database.profile.record(ProfiledOperation(.unlisten, at: listen.path), at: database.shared.now())
        }
        database.remove(self)
        return true
    }
}

extension RealtimePush {
    /// - Parameter changes: with targets that count from the path.
    convenience init(_ path: RealtimePath, _ changes: [RealtimeChange], version: Int64) {
        if changes.count == 1 {
            self.init(
                RealtimeTarget(path).appending(changes[0].target), .put(changes[0].node), version: version)
        } else {
            self.init(RealtimeTarget(path), .merge(changes), version: version)
        }
    }
}

/// The push that was made last: the store gives one after the other to all its listeners, so that each is encoded once.
final class SharedPushes: Sendable {
    private struct Last {
        /// Kept, so that no other one is at its address.
        var source: any AnyObject & Sendable
        var push: RealtimePush
    }

    private let last = Mutex<Last?>(nil)

    init() {}

    func push(for source: any AnyObject & Sendable, _ make: () -> RealtimePush) -> RealtimePush {
        last.withLock { last in
            if let last, last.source === source { return last.push }
            let made = make()
            last = Last(source: source, push: made)
            return made
        }
    }
}
