package import DocumentModel
import Synchronization

/// What clients may do. Rules can be replaced while they decide; an operation is decided by those of its beginning.
package final class ClientRules: Sendable {
    package enum State: Sendable {
        /// Clients may do everything, as on the official emulators without rules.
        case open
        /// Clients may do nothing.
        case closed
        case rules(Ruleset)
    }

    /// What was refused, for the log.
    package struct Refusal {
        package let method: String
        /// The path of the document or collection.
        package let path: String
        package let uid: String?
        package let decision: RulesDecision
        /// Decides again, with the values of all expressions. During the call that reports the refusal only.
        package let trace: () -> [RulesDecision.TracedValue]
    }

    /// The rules, how often they have decided, and how often they were replaced before.
    private struct Current {
        var state: State
        var generation = 0
        var coverage: RulesCoverage?

        init(_ state: State) {
            self.state = state
            if case .rules(let ruleset) = state { coverage = RulesCoverage(ruleset) }
        }
    }

    private let kept: Mutex<Current>
    private let observers = Mutex<[@Sendable () -> Void]>([])
    fileprivate let explains: Bool
    private let onRefusal: (@Sendable (Refusal) -> Void)?

    /// - Parameters:
    ///   - explains: whether a refusal's error says why; it then reveals values of documents.
    ///   - onRefusal: called for each operation that rules refuse, on the store's threads: it must not block.
    package init(
        _ state: State, explains: Bool = false, onRefusal: (@Sendable (Refusal) -> Void)? = nil
    ) {
        kept = Mutex(Current(state))
        self.explains = explains
        self.onRefusal = onRefusal
    }

    package var current: State { kept.withLock { $0.state } }

    /// How often each `allow` of the current rules has decided; nil if there are no rules.
    package var coverage: RulesCoverage? { kept.withLock { $0.coverage } }

    package func replace(_ state: State) {
        kept.withLock { kept in
            let generation = kept.generation + 1
            kept = Current(state)
            kept.generation = generation
        }
        for observer in observers.withLock({ $0 }) { observer() }
    }

    /// Calls back whenever the rules were replaced, on the thread that did so: it must not block.
    package func onReplacement(_ observer: @escaping @Sendable () -> Void) {
        observers.withLock { $0.append(observer) }
    }

    /// Counts a decision, unless the rules were replaced since.
    fileprivate func count(_ decision: RulesDecision, of generation: Int) {
        kept.withLock { kept in
            if kept.generation == generation { kept.coverage?.add(decision) }
        }
    }

    /// - Parameter trace: decides again, with values.
    fileprivate func note(
        _ request: RulesRequest, _ decision: RulesDecision, of client: ClientIdentity?,
        trace: () throws -> RulesDecision
    ) {
        guard let onRefusal else { return }
        withoutActuallyEscaping(trace) { trace in
            onRefusal(
                Refusal(
                    method: request.methodName, path: request.path.joined(separator: "/"), uid: client?.uid,
                    decision: decision, trace: { (try? trace())?.trace ?? [] }))
        }
    }

    /// What decides a client's operations, by the rules of this moment.
    package func policy(of client: ClientIdentity?, in database: DatabaseID) -> any AccessPolicy {
        let (state, generation) = kept.withLock { ($0.state, $0.generation) }
        return RulesPolicy(self, state, generation, client, database.database)
    }
}

/// Decides a client's operations.
private final class RulesPolicy: AccessPolicy {
    private let rules: ClientRules
    private let generation: Int
    private let state: ClientRules.State
    private let client: ClientIdentity?
    private let auth: RuleValue
    private let database: String

    init(
        _ rules: ClientRules, _ state: ClientRules.State, _ generation: Int, _ client: ClientIdentity?,
        _ database: String
    ) {
        self.rules = rules
        self.state = state
        self.generation = generation
        self.client = client
        self.database = database
        auth = if case .rules = state { RulesRequest.auth(client) } else { .null }
    }

    func check(_ access: Access, in view: AccessView) throws {
        switch state {
        case .open: return
        case .closed: throw Self.denied
        case .rules(let ruleset):
            let request = RulesRequest(access, auth: auth, in: database, at: view.time)
            let documents = RulesDocuments(
                before: { path in
                    let document = try view.document(path)
                    try Self.checkCount(view)
                    return document
                },
                after: { path in
                    let document = try view.documentAfter(path)
                    try Self.checkCount(view)
                    return document
                },
                named: { try view.named($0) }, isWritten: view.isWritten)
            let decision = try ruleset.decide(request, documents, maxCost: view.costLeft)
            try view.spend(decision.cost)
            if view.isTrial {
                guard decision.isAllowed else { throw Self.denied }
                return
            }
            rules.count(decision, of: generation)
            guard !decision.isAllowed else { return }
            rules.note(request, decision, of: client) {
                try ruleset.decide(request, documents, isTraced: true)
            }
            guard rules.explains else { throw Self.denied }
            throw DocumentError(.permissionDenied, "\(Self.denied.message) \(decision.explanation)")
        }
    }

    private static let denied = DocumentError(.permissionDenied, "Missing or insufficient permissions.")

    private static func checkCount(_ view: AccessView) throws(DocumentError) {
        guard view.documentCount > RulesLimits.documentsOfBatch else { return }
        throw DocumentError(
            .permissionDenied,
            "\(denied.message) The rules read more than \(RulesLimits.documentsOfBatch) documents for one request.")
    }
}
