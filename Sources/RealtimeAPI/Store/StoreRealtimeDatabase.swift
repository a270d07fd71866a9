import CommitPipeline
import DocumentModel
import Logging
import RealtimeModel
import RealtimeStore
import SecurityRules
import StrictJSON
import Synchronization

/// A database: a namespace of the store under its rules.
final class StoreRealtimeDatabase: RealtimeDatabase {
    struct Rules: Sendable {
        var project: DatabaseRules?
        /// Those that were uploaded for this database; nil for the project's.
        var uploaded: DatabaseRules?
        /// In development only.
        var coverage: DatabaseRulesCoverage?

        var current: DatabaseRules? { uploaded ?? project }
    }

    let name: String
    let shared: StoreRealtimeService.Shared
    let rules: Mutex<Rules>
    private let listens = Mutex<[ObjectIdentifier: StoreListening]>([:])
    let pushes = SharedPushes()

    init(_ name: String, _ shared: StoreRealtimeService.Shared, projectRules: DatabaseRules?) {
        self.name = name
        self.shared = shared
        rules = Mutex(Rules(project: projectRules))
        rulesHaveChanged()
    }

    var store: RealtimeStore { shared.store }

    /// Decisions on readers' threads may end in another order than they began.
    var decidesWritesInOrder: Bool { false }

    var access: RealtimeAccess {
        rules.withLock { $0.current }.map { .rules($0) } ?? (shared.isDevelopment ? .open : .closed)
    }

    /// Whose turn a read waits for.
    func caller(_ principal: RealtimePrincipal) -> ReadCaller? {
        guard case .client(let auth) = principal else { return nil }
        return .clientGet(UInt64(truncatingIfNeeded: auth?.uid?.hashValue ?? 0))
    }

    // MARK: Reads

    func read(
        _ read: RealtimeRead, as principal: RealtimePrincipal,
        _ completion: @escaping @Sendable (Result<RealtimeReading, RealtimeServiceError>) -> Void
    ) {
        let (access, observer, now) = (access, observer, shared.now())
        store.read(
            in: name, of: caller(principal),
            { state in
                try access.requireRead(of: read.path, read.query, as: principal, in: state, now: now, observer)
                if read.requiresIndex, let error = Self.missingIndex(read.query, read.path, state) {
                    return Result<RealtimeReading, RealtimeServiceError>.failure(error)
                }
                var bytes: [UInt8] = []
                switch read.form {
                case .value(let form):
                    try state.writeJSON(at: read.path, matching: read.query, as: form) { bytes += $0 }
                case .shallow: try state.writeShallowJSON(at: read.path, matching: read.query) { bytes += $0 }
                }
                let hash = read.wantsHash ? try state.hash(at: read.path, matching: read.query) : nil
                return .success(RealtimeReading(.bytes(bytes), hash: hash))
            },
            completion: { [name] result in completion(Self.flattened(result, name)) })
    }

    static func missingIndex(
        _ query: RealtimeQuery?, _ path: RealtimePath, _ state: RealtimeSnapshot
    ) -> RealtimeServiceError? {
        guard let query, !state.isIndexed(query, at: path) else { return nil }
        return .query(.indexNotDefined(index: query.index.name, path: path))
    }

    static func flattened<Success>(
        _ result: Result<Result<Success, RealtimeServiceError>, RealtimeFailure>, _ name: String
    ) -> Result<Success, RealtimeServiceError> {
        switch result {
        case .success(let inner): inner
        case .failure(let failure): .failure(RealtimeServiceError(failure, of: name))
        }
    }

    // MARK: Listens

    func listen(
        _ listen: RealtimeListen, as principal: RealtimePrincipal, to listener: any RealtimeListener
    ) -> any RealtimeListening {
        let listening = StoreListening(self, listen, principal, listener)
        listens.withLock { $0[ObjectIdentifier(listening)] = listening }
        listening.begin()
        return listening
    }

    func remove(_ listening: StoreListening) {
        _ = listens.withLock { $0.removeValue(forKey: ObjectIdentifier(listening)) }
    }

    /// Decides on all listens again.
    func authorizeListens(_ completion: @escaping @Sendable () -> Void) {
        let all = listens.withLock { Array($0.values) }
        let countdown = Countdown(all.count, completion)
        for listening in all { listening.authorize { countdown.countDown() } }
    }

    // MARK: Writes

    func write(
        _ write: RealtimeWrite, _ options: RealtimeWriteOptions, as principal: RealtimePrincipal,
        _ completion: @escaping @Sendable (Result<RealtimeWritten, RealtimeServiceError>) -> Void
    ) {
        store.commit(
            RealtimeCommit([write], in: name, check: check(write, as: principal)),
            in: OperationContext(auth: EventAuth(principal)), of: caller(principal)
        ) { [store, name] result in
            switch result {
            case .failure(let failure): completion(.failure(RealtimeServiceError(failure, of: name)))
            case .success(let committed):
                let changes = options.wantsChanges ? committed.written : []
                guard options.wantsHash, case .set(let target, _, _) = write else {
                    return completion(.success(RealtimeWritten(changes: changes)))
                }
                store.read(in: name) { try $0.hash(at: target) } completion: { hash in
                    completion(
                        hash.map { RealtimeWritten(changes: changes, hash: $0) }
                            .mapError { RealtimeServiceError($0, of: name) })
                }
            }
        }
    }

    func check(_ write: RealtimeWrite, as principal: RealtimePrincipal) -> RealtimeCheck? {
        guard !principal.isAdmin else { return nil }
        // The rules of the moment at which it is decided.
        return { [self] before, after, now in
            try access.requireWrite(write, as: principal, before: before, after: after, now: now, observer)
        }
    }
}

extension EventAuth {
    /// The author of a change.
    init(_ principal: RealtimePrincipal) {
        switch principal {
        case .admin: self.init(.serviceAccount)
        case .client(nil): self.init(.unauthenticated)
        case .client(let auth?): self.init(.appUser, id: auth.uid)
        }
    }
}

extension RealtimeServiceError {
    init(_ failure: RealtimeFailure, of database: String) {
        self =
            switch failure.code {
            case .denied: .permissionDenied
            case .stale: .stale
            case .tooLarge: .tooMuchToRead
            case .tooManyNodes: .tooManyNodes
            case .unknownNamespace: .unknownDatabase(database)
            case .unavailable: .unavailable(failure.message)
            case .invalid, .damaged, .internal: .failed(failure.message)
            }
    }
}
