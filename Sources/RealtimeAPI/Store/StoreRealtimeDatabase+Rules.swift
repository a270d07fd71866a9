import Logging
import RealtimeModel
import RealtimeStore
import SecurityRules
import Synchronization

extension StoreRealtimeDatabase {
    var currentRules: DatabaseRules? { rules.withLock { $0.current } }

    var coverage: DatabaseRulesCoverage? { rules.withLock { $0.coverage } }

    /// Whether the rules name an index for a query, or it needs none. It may still have to be built.
    func namesIndex(for query: RealtimeQuery, at path: RealtimePath) -> Bool {
        if query.index == .key || query.index == .priority { return true }
        guard let current = currentRules else { return false }
        return current.hasIndex(for: DatabaseRulesQuery(query).order, at: path.keys.map(\.string))
    }

    /// In development, decisions are counted, and refusals are logged with what the rules have seen.
    var observer: RulesObserver {
        guard shared.isDevelopment else {
            return RulesObserver { [slowest] decision, _ in slowest.note(decision) }
        }
        return RulesObserver(detail: .conditions) { [self] decision, rules in
            slowest.note(decision)
            self.rules.withLock { state in
                guard state.current?.source.bytes == rules.source.bytes else { return }
                state.coverage?.add(decision)
            }
            guard !decision.isAllowed else { return }
            shared.logger.notice(
                "the database's rules refused a request",
                metadata: ["database.name": "\(name)", "rules.decision": "\(decision.explanation)"])
        }
    }

    func serve(projectRules: DatabaseRules?) {
        let hadRules = rules.withLock { state in
            defer {
                state.project = projectRules
                state.generation += 1
            }
            return state.current != nil
        }
        rulesHaveChanged(hadRules: hadRules)
        authorizeListens {}
    }

    /// Begins to count, and builds the indexes that the rules name.
    ///
    /// - Parameter hadRules: whether there were rules before, whose indexes go with them. At the host's start the stored
    ///   indexes are those of rules that are still to come.
    func rulesHaveChanged(hadRules: Bool = false) {
        unindexed.removeAll()
        slowest.reset()
        rules.withLock { state in
            state.coverage = shared.isDevelopment ? state.current.map { DatabaseRulesCoverage($0) } : nil
        }
        // Of two changes the later one's indexes are built.
        indexing.withLock { _ in
            let current = currentRules
            guard current != nil || hadRules else { return }
            let definitions = current?.indexDefinitions.map { RealtimeIndexDefinition($0.location, $0.index) } ?? []
            store.configureIndexes(definitions, in: name) { [shared, name] result in
                guard case .failure(let failure) = result else { return }
                shared.logger.error(
                    "the indexes of a database can't be changed yet; the previous ones are used until then",
                    metadata: ["database.name": "\(name)", "error": "\(failure.message)"])
            }
        }
    }

    func rulesSource() throws(RealtimeServiceError) -> RealtimeRulesSource {
        guard let current = currentRules else {
            let text = shared.isDevelopment ? Self.openRules : Self.closedRules
            return RealtimeRulesSource(source: Array(text.utf8), json: Array(text.utf8))
        }
        return RealtimeRulesSource(source: current.source.bytes, json: Array(current.strictJSON.utf8))
    }

    private static let openRules = #"{"rules":{".read":true,".write":true}}"#
    private static let closedRules = #"{"rules":{".read":false,".write":false}}"#

    func setRules(
        _ source: [UInt8], isDryRun: Bool,
        _ completion: @escaping @Sendable (Result<Void, RealtimeServiceError>) -> Void
    ) {
        let compiled: DatabaseRules
        do {
            guard let text = String(validating: source, as: UTF8.self) else {
                return completion(.failure(.rules(RealtimeRulesProblem(message: "the rules aren't text in UTF-8"))))
            }
            compiled = try DatabaseRules(text)
        } catch {
            let problem = error.diagnostics.first { $0.severity == .error }
            return completion(
                .failure(
                    .rules(
                        RealtimeRulesProblem(
                            line: problem?.position.line, column: problem?.position.column,
                            message: problem?.message ?? "the rules can't be used"))))
        }
        guard !isDryRun else { return completion(.success(())) }
        for warning in compiled.warnings {
            shared.logger.notice(
                "\(warning.message)",
                metadata: ["database.name": "\(name)", "rules.position": "\(warning.position)"])
        }
        store.set(Self.rulesSetting, to: source, in: name) { [self] result in
            if case .failure(let failure) = result {
                return completion(.failure(RealtimeServiceError(failure, of: name)))
            }
            replace(uploaded: compiled)
            authorizeListens { completion(.success(())) }
        }
    }

    private func replace(uploaded: DatabaseRules) {
        rules.withLock { state in
            state.uploaded = uploaded
            state.generation += 1
        }
        rulesHaveChanged()
    }

    /// The name under which the store keeps the source of uploaded rules.
    static let rulesSetting = "rules"

    /// Takes over rules that were uploaded before the host's start.
    func restore(_ source: [UInt8]) {
        do {
            let compiled = try DatabaseRules(String(decoding: source, as: UTF8.self))
            replace(uploaded: compiled)
        } catch {
            shared.logger.error(
                "rules that were uploaded for a database can't be used any more; it has the project's",
                metadata: ["database.name": "\(name)", "error": "\(error)"])
        }
    }

    /// Denies clients everything, since the rules that were uploaded before the host's start can't be read: others may
    /// allow more.
    func denyAll(because failure: RealtimeFailure) {
        if let closed = try? DatabaseRules(Self.closedRules) { replace(uploaded: closed) }
        shared.logger.error(
            "rules that were uploaded for a database can't be read; clients are denied until they are uploaded again",
            metadata: ["database.name": "\(name)", "error": "\(failure.message)"])
    }
}

extension RealtimeIndexDefinition {
    /// - Parameter location: names that begin with `$` stand for any key.
    init(_ location: [String], _ index: DatabaseRulesIndex) {
        self.init(
            parents: location.map { $0.hasPrefix("$") ? .any : .key(RealtimeKey(unchecked: $0)) },
            index: RealtimeQuery.Index(index))
    }
}

extension RealtimeQuery.Index {
    init(_ index: DatabaseRulesIndex) {
        switch index {
        case .value: self = .value
        case .child(let path): self = .child(RealtimePath(unchecked: path.map { RealtimeKey(unchecked: $0) }))
        }
    }
}
