import CommitPipeline
import DocumentModel
import Logging
import RealtimeModel
import RealtimeStore
import SecurityRules
import Sharing
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
    let settings = Mutex(Settings())
    let unindexed = UnindexedQueries()
    private let listens = Mutex<[ObjectIdentifier: StoreListening]>([:])
    let pushes = SharedPushes()

    init(_ name: String, _ shared: StoreRealtimeService.Shared, projectRules: DatabaseRules?) {
        self.name = name
        self.shared = shared
        rules = Mutex(Rules(project: projectRules))
        rulesHaveChanged()
    }

    var store: RealtimeStore { shared.store }

    var access: RealtimeAccess {
        rules.withLock { $0.current }.map { .rules($0) } ?? (shared.isDevelopment ? .open : .closed)
    }

    /// Whose turn a read waits for.
    func caller(_ principal: RealtimePrincipal, _ client: RealtimeClient) -> ReadCaller? {
        guard case .client(let auth) = principal else { return nil }
        return .clientGet(auth?.uid.map { UInt64(truncatingIfNeeded: $0.hashValue) } ?? client.address)
    }

    /// Who holds what is read.
    func holder(_ principal: RealtimePrincipal, _ client: RealtimeClient) -> MemoryBudget.Holder {
        guard case .client(let auth) = principal else { return .host }
        return auth?.uid.map { .user(id: $0) } ?? .stranger(client.address)
    }

    // MARK: Reads

    func read(
        _ read: RealtimeRead, as principal: RealtimePrincipal, for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<RealtimeReading, RealtimeServiceError>) -> Void
    ) {
        let (access, observer, now, spool) = (access, observer, shared.now(), shared.spool)
        let holder = holder(principal, client)
        store.read(
            in: name, of: caller(principal, client),
            { [self] state in
                try access.requireRead(of: read.path, read.query, as: principal, in: state, now: now, observer)
                if let error = missingIndex(read.query, read.path, state), read.requiresIndex {
                    return Result<RealtimeReading, RealtimeServiceError>.failure(error)
                }
                let content = try spool.collect(for: holder) { receive in
                    switch read.form {
                    case .value(let form):
                        try state.writeJSON(at: read.path, matching: read.query, as: form, receive)
                    case .shallow: try state.writeShallowJSON(at: read.path, matching: read.query, receive)
                    }
                }
                let hash = read.wantsHash ? try state.hash(at: read.path, matching: read.query) : nil
                return .success(RealtimeReading(content, hash: hash))
            },
            completion: { [name] result in completion(Self.flattened(result, name)) })
    }

    /// Logs what the rules lack for a query.
    func missingIndex(
        _ query: RealtimeQuery?, _ path: RealtimePath, _ state: RealtimeSnapshot
    ) -> RealtimeServiceError? {
        guard let query, !state.isIndexed(query, at: path) else { return nil }
        if unindexed.insert(query, at: path) {
            shared.logger.notice(
                "a query has no index: add \".indexOn\": \"\(query.index.name)\" at its path to the rules",
                metadata: ["database.name": "\(name)", "database.path": "\(path)"])
        }
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
        _ listen: RealtimeListen, as principal: RealtimePrincipal, for client: RealtimeClient,
        to listener: any RealtimeListener
    ) -> any RealtimeListening {
        let listening = StoreListening(self, listen, principal, client, listener)
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
        for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<RealtimeWritten, RealtimeServiceError>) -> Void
    ) {
        var request = RealtimeCommit([write], in: name, check: check(write, as: principal))
        request.client = client.id
        request.maxRows = (options.sizeLimit ?? sizeLimit).rows
        store.commit(
            request, in: OperationContext(auth: EventAuth(principal)), sequence: client.writes,
            of: caller(principal, client)
        ) { [store, name] result in
            switch result {
            case .failure(let failure): completion(.failure(RealtimeServiceError(failure, of: name)))
            case .success(let committed):
                let changes = options.wantsChanges ? committed.written : []
                guard options.wantsHash, case .set(let target, _, _) = write else {
                    return completion(.success(RealtimeWritten(changes: changes)))
                }
                store.read(in: name) {
                    try $0.hash(at: target)
                } completion: { hash in
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
            case .tooManyRows: .writeTooSlow
            case .unknownNamespace: .unknownDatabase(database)
            case .unavailable: .unavailable(failure.message)
            case .invalid, .damaged, .internal: .failed(failure.message)
            }
    }
}
