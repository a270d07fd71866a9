import CommitPipeline
import DocumentModel
import Logging
import RealtimeModel
import RealtimeStore
import SecurityRules
import Sharing
import Synchronization

/// A database: a namespace of the store under its rules.
final class StoreRealtimeDatabase: RealtimeDatabase {
    struct Rules: Sendable {
        var project: DatabaseRules?
        /// Those that were uploaded for this database; nil for the project's.
        var uploaded: DatabaseRules?
        /// In development only.
        var coverage: DatabaseRulesCoverage?
        /// Counts the changes.
        var generation: UInt64 = 0

        var current: DatabaseRules? { uploaded ?? project }
    }

    let name: String
    let shared: StoreRealtimeService.Shared
    let rules: Mutex<Rules>
    let settings = Mutex(Settings())
    let indexing = Mutex(())
    let unindexed = UnindexedQueries()
    let slowest = SlowestDecision()
    let profile = DatabaseProfile()
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

    /// Who holds what is read.
    func holder(_ principal: RealtimePrincipal, _ client: RealtimeClient) -> MemoryBudget.Holder {
        principal.memoryHolder ?? .stranger(client.address)
    }

    // MARK: Indexes

    /// Logs what the rules lack for a query. They lack nothing while an index that they name is built: the query looks at all
    /// children then, within the bound on nodes.
    func missingIndex(
        _ query: RealtimeQuery?, _ path: RealtimePath, _ state: RealtimeSnapshot
    ) -> RealtimeServiceError? {
        guard let query, !state.isIndexed(query, at: path), !namesIndex(for: query, at: path) else { return nil }
        note(query, withoutIndexAt: path)
        return .query(.indexNotDefined(index: query.index.name, path: path))
    }

    func note(_ query: RealtimeQuery, withoutIndexAt path: RealtimePath) {
        guard !namesIndex(for: query, at: path), unindexed.insert(query, at: path) else { return }
        shared.logger.notice(
            "a query has no index: add \".indexOn\": \"\(query.index.name)\" at its path to the rules",
            metadata: ["database.name": "\(name)", "database.path": "\(path)"])
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
        // Before it reads: it reads the effects of each write that was answered without it.
        client.listens()
        listening.begin()
        return listening
    }

    /// The listens that are open, and the bytes that each began with.
    var openListens: [(path: RealtimePath, bytes: Int)] {
        listens.withLock { $0.values.map { ($0.path, $0.bytes) } }
    }

    func remove(_ listening: StoreListening) {
        _ = listens.withLock { $0.removeValue(forKey: ObjectIdentifier(listening)) }
    }

    /// Decides on all listens again.
    func authorizeListens(_ completion: @escaping @Sendable () -> Void) {
        let all = listens.withLock { Array($0.values) }
        Countdown.run(all.count, together: Countdown.listensTogether) { index, done in
            all[index].authorize(done)
        } completion: {
            completion()
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
            case .triggerLimit: .triggerLimit(failure.message)
            case .unknownNamespace: .unknownDatabase(database)
            case .unavailable: .unavailable(failure.message)
            case .invalid, .damaged, .internal: .failed(failure.message)
            }
    }
}
