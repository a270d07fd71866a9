package import Logging
package import RealtimeModel
package import RealtimeStore
package import SecurityRules
import Sharing
import Synchronization

/// The databases of a project: the store's trees under rules.
///
/// A database has the project's rules, unless rules were uploaded for it. Without any, development is open to all clients, as
/// the official emulator is, and production denies them everything.
package final class StoreRealtimeService: RealtimeService {
    /// What the databases have in common.
    struct Shared: Sendable {
        let store: RealtimeStore
        let isDevelopment: Bool
        let logger: Logger
        let spool: Spool
        let unfinished = UnfinishedSessions()
        /// Writes down what clients register: of one caller after the other.
        let disconnects = FairWork("realtime.disconnects")
        /// Stores large values, and hashes what isn't small: of one caller after the other.
        let values = FairWork("realtime.values")
        /// Milliseconds since 1970.
        let now: @Sendable () -> Int64
    }

    private struct State {
        var databases: [String: StoreRealtimeDatabase] = [:]
        /// The project's rules.
        var rules: DatabaseRules?
    }

    let shared: Shared
    private let state = Mutex(State())
    private let isStopped = Atomic(false)

    /// - Parameters:
    ///   - names: the databases that exist; in development others exist from their first use.
    ///   - spool: where large values wait for their clients.
    ///   - now: milliseconds since 1970.
    package init(
        _ store: RealtimeStore, names: [String], isDevelopment: Bool, spool: Spool, logger: Logger,
        now: @escaping @Sendable () -> Int64
    ) {
        shared = Shared(
            store: store, isDevelopment: isDevelopment, logger: logger, spool: spool, now: now)
        shared.unfinished.setEnd { [weak self] session in await self?.end(session) }
        add(names)
    }

    /// Serves the databases and the rules that were kept by the host before.
    ///
    /// To be called before ``serve(_:)``: a database that is served by the project's rules loses the indexes of those that were
    /// uploaded for it, which are then rebuilt.
    ///
    /// - Throws: `RealtimeFailure` if they can't be read.
    package func restore() async throws {
        let rules = try await shared.store.settings(StoreRealtimeDatabase.rulesSetting)
        for (name, source) in rules.found { formerDatabase(name)?.restore(source) }
        for (name, failure) in rules.damaged { formerDatabase(name)?.denyAll(because: failure) }
        for setting in RealtimeSetting.allCases {
            let settings = try await shared.store.settings(setting.rawValue)
            for (name, json) in settings.found { formerDatabase(name)?.restore(setting, json) }
            for (name, failure) in settings.damaged {
                shared.logger.error(
                    "a setting of a database can't be read; it has its default",
                    metadata: [
                        "database.name": "\(name)", "setting": "\(setting.rawValue)", "error": "\(failure.message)",
                    ])
            }
        }
        if shared.isDevelopment { add(try await shared.store.namespaces()) }
    }

    /// A database of which the store has something. It needn't have data, only rules for instance.
    ///
    /// - Returns: nil if functions.json doesn't name it any more: nothing of it is served then.
    private func formerDatabase(_ name: String) -> StoreRealtimeDatabase? {
        shared.isDevelopment ? database(named: name) : state.withLock { $0.databases[name] }
    }

    /// The sessions that were open when the host ended, and have something registered for their end. To be asked before new
    /// ones begin. Those that can't be read are left out.
    ///
    /// - Throws: `RealtimeFailure` if the store can't be read.
    package func formerSessions() async throws -> [RealtimeDisconnectSession] {
        try await shared.store.disconnectSessions { [shared] damage in
            shared.logger.error(
                "what clients have registered for their disconnection can't be read, and isn't done for all of them",
                metadata: ["error": "\(damage.message)"])
        }
    }

    /// Runs what a client has registered for its disconnection. It is harmless if it has come back meanwhile: that has done it.
    package func end(_ session: RealtimeDisconnectSession) async {
        guard let database = formerDatabase(session.namespace) else { return }
        await withCheckedContinuation { continuation in
            database.endSession(session.session, of: nil) { _ in continuation.resume() }
        }
    }

    /// Ends sessions one after the other, until the task is cancelled. What is left stays registered, and is done after the
    /// host's next start.
    package func end(_ sessions: [RealtimeDisconnectSession]) async {
        for session in sessions {
            guard !Task.isCancelled else { return }
            await end(session)
        }
    }

    /// Serves further databases.
    package func add(_ names: [String]) { for name in names { _ = database(named: name) } }

    package func database(_ name: String) throws(RealtimeServiceError) -> any RealtimeDatabase {
        guard !isStopped.load(ordering: .relaxed) else { throw .unavailable("The host is shutting down.") }
        if let known = state.withLock({ $0.databases[name] }) { return known }
        guard shared.isDevelopment, Self.isName(name) else { throw .unknownDatabase(name) }
        return database(named: name)
    }

    private func database(named name: String) -> StoreRealtimeDatabase {
        state.withLock { state in
            if let known = state.databases[name] { return known }
            let new = StoreRealtimeDatabase(name, shared, projectRules: state.rules)
            state.databases[name] = new
            return new
        }
    }

    /// A label of a domain name.
    private static func isName(_ name: String) -> Bool {
        (1...63).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (97...122).contains(byte) || (48...57).contains(byte) || byte == UInt8(ascii: "-")
                    || byte == UInt8(ascii: "_")
            }
    }

    /// In the order of their names.
    var all: [StoreRealtimeDatabase] { state.withLock { $0.databases.values.sorted { $0.name < $1.name } } }

    package func databaseNames() throws(RealtimeServiceError) -> [String] {
        state.withLock { $0.databases.keys.sorted() }
    }

    /// Replaces the project's rules. Listens that they no longer allow end.
    ///
    /// - Parameter rules: nil for none.
    package func serve(_ rules: DatabaseRules?) {
        let databases = state.withLock { state in
            state.rules = rules
            return Array(state.databases.values)
        }
        for database in databases { database.serve(projectRules: rules) }
    }

    /// How often the rules of a database have decided what, since they were loaded; nil if it has none, or in production.
    package func coverage(of name: String) -> DatabaseRulesCoverage? {
        state.withLock { $0.databases[name] }?.coverage
    }

    /// What the events of a write to a database may be.
    package func triggerLimits(of name: String) -> TriggerLimits {
        state.withLock { $0.databases[name] }?.settings.withLock { $0.triggerLimits } ?? .strict
    }

    /// Notes that a query of a function has no index.
    package func note(_ query: RealtimeQuery, withoutIndexAt path: RealtimePath, in name: String) {
        state.withLock { $0.databases[name] }?.note(query, withoutIndexAt: path)
    }

    /// What the rules of a database lack for the queries that were seen since they were loaded, a sentence each.
    package func missingIndexes(of name: String) -> [String] {
        state.withLock { $0.databases[name] }?.unindexed.sentences ?? []
    }

    /// The rules of a database; nil if it has none.
    package func rules(of name: String) -> DatabaseRules? { state.withLock { $0.databases[name] }?.currentRules }

    /// Refuses further requests.
    package func stop() {
        isStopped.store(true, ordering: .relaxed)
        shared.unfinished.setEnd(nil)
    }
}
