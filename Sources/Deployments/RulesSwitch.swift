import DocumentModel
package import DocumentStore
package import HostConfiguration
package import Logging
package import SecurityRules
import Synchronization

/// The security rules and indexes that are served, and can be replaced.
///
/// Without rules, development is open to all clients, as the official emulators are, and production denies them all.
package final class RulesSwitch: Sendable {
    package let clients: ClientRules
    private let isDevelopment: Bool
    private let logger: Logger
    private let served: Mutex<(rules: ProjectRules, release: String?)>
    /// What the store was configured with last. Locked meanwhile: of two changes at once, the later one stays.
    private let configured: Mutex<ProjectRules>
    private let databaseRules: @Sendable (RulesFile<DatabaseRules>?) -> Void

    /// - Parameters:
    ///   - clients: decides by the rules that are served.
    ///   - first: what is served first. Its indexes are configured by ``begin(_:)``.
    ///   - databaseRules: called with the Realtime Database's rules, by ``begin(_:)`` and whenever they change.
    package init(
        _ clients: ClientRules, _ first: ServedRules, isDevelopment: Bool, logger: Logger,
        databaseRules: @escaping @Sendable (RulesFile<DatabaseRules>?) -> Void
    ) {
        self.clients = clients
        self.isDevelopment = isDevelopment
        self.logger = logger
        self.databaseRules = databaseRules
        served = Mutex((first.rules, first.release))
        configured = Mutex(first.rules)
        clients.replace(state(of: first.rules))
        for warning in first.rules.warnings { logger.notice("\(warning)") }
    }

    package var current: ProjectRules { now.rules }

    /// The release that is served; nil if others are.
    package var release: String? { now.release }

    private var now: (rules: ProjectRules, release: String?) { served.withLock { withUpload($0) } }

    private func withUpload(
        _ served: (rules: ProjectRules, release: String?)
    ) -> (rules: ProjectRules, release: String?) {
        var now = served
        // In development, rules can be uploaded.
        if case .rules(let ruleset) = clients.current, ruleset.source.bytes != now.rules.rules?.ruleset.source.bytes {
            now.rules.rules = RulesFile(path: "the uploaded rules", ruleset)
            now.release = nil
        }
        return now
    }

    package func begin(_ store: DocumentStore) {
        configured.withLock { configured in
            configured = served.withLock { $0.rules }
            store.configure(configured.indexes ?? IndexFile(), logger: logger)
            databaseRules(configured.databaseRules)
        }
    }

    /// Serves other rules and indexes. The host doesn't wait for the indexes' builds: until they are done, queries run
    /// without them.
    ///
    /// - Parameter release: the id; nil for the files of `functions.json`.
    package func serve(_ rules: ProjectRules, release: String?, in store: DocumentStore) {
        // Within the lock, so that what is served last is also what decides.
        let hasOtherRules = served.withLock { served in
            let hasOtherRules = rules.rules?.source != withUpload(served).rules.rules?.source
            served = (rules, release)
            if hasOtherRules { clients.replace(state(of: rules)) }
            return hasOtherRules
        }
        configured.withLock { configured in
            // Another change may have been served since.
            let (before, rules) = (configured, served.withLock { $0.rules })
            configured = rules
            if rules.indexes?.source != before.indexes?.source {
                store.configure(rules.indexes ?? IndexFile(), logger: logger)
            }
            if rules.databaseRules?.source != before.databaseRules?.source {
                databaseRules(rules.databaseRules)
                for warning in rules.databaseRules?.warnings ?? [] { logger.notice("\(warning)") }
            }
        }
        guard hasOtherRules else { return }
        for warning in rules.rules?.warnings ?? [] { logger.notice("\(warning)") }
    }

    private func state(of rules: ProjectRules) -> ClientRules.State {
        rules.rules.map { .rules($0.ruleset) } ?? (isDevelopment ? .open : .closed)
    }
}

/// Rules and indexes with the release that they are from.
package struct ServedRules: Sendable {
    package var rules: ProjectRules
    /// Nil if they are from the files of `functions.json`.
    package var release: String?

    /// What the host serves at its start: the deployed release, or the files of the configuration if none was deployed.
    ///
    /// - Parameter isLocal: whether to serve the files, and no deployed release.
    /// - Throws: an error whose description is a sentence for the operator.
    package static func initial(
        _ configuration: HostConfiguration, _ store: ReleaseStore, isLocal: Bool
    ) throws -> ServedRules {
        if !isLocal, let id = try store.index().current[HostConfiguration.rulesName] {
            do throws(ReleaseError) {
                return ServedRules(rules: try store.rules(id), release: id)
            } catch {
                throw ReleaseError(
                    "\(error). Roll back to an earlier one with \"functions-host rollback rules\", or serve the files of "
                        + "functions.json with \"functions-host serve --local\"")
            }
        }
        return ServedRules(
            rules: try ProjectRules(loading: RulesSource(configuration)), release: nil)
    }
}

extension DocumentStore {
    /// Applies a project's index file.
    fileprivate func configure(_ file: IndexFile, logger: Logger) {
        if !file.expiring.isEmpty {
            logger.warning(
                "this host doesn't delete expired documents; the ttl of these fields has no effect",
                metadata: ["indexes.ttl": .array(file.expiring.map { "\($0)" })])
        }
        for skipped in file.skipped { logger.warning("\(skipped)") }
        configureIndexes(file.configuration) { result in
            guard case .failure(let error) = result else { return }
            logger.error(
                "the indexes can't be changed yet; the previous ones are used until then",
                metadata: ["error": "\(error.message)"])
        }
    }
}
