import DocumentModel
import RealtimeModel
import RealtimeStore
import SecurityRules
import StrictJSON

/// What decides on requests of clients. Admins may do everything.
enum RealtimeAccess: Sendable {
    /// Everything is allowed, as in development without rules.
    case open
    /// Nothing is allowed.
    case closed
    case rules(DatabaseRules)

    /// Decides on a read if no node has to be read for that, and if it is quick enough for an event loop.
    ///
    /// - Returns: nil if it has to be decided by ``requireRead(of:_:as:in:now:maxCost:_:)``.
    func allowsReadAtOnce(
        of path: RealtimePath, as principal: RealtimePrincipal, now: Int64, _ observer: RulesObserver
    ) -> Bool? {
        guard case .client(let auth) = principal else { return true }
        switch self {
        case .open: return true
        case .closed: return false
        case .rules(let rules):
            let request = DatabaseRulesRequest.read(
                path.keys.map(\.string), nil, auth: auth?.variable ?? .null, now: now)
            let decision = try? rules.decide(
                request, before: UnavailableRulesData(), detail: observer.detail, maxCost: Self.maxCostAtOnce)
            guard let decision, !decision.isTooCostly else { return nil }
            return (try? observer.require(decision, of: rules)) != nil
        }
    }

    /// About 10 µs.
    private static let maxCostAtOnce = 200

    /// - Parameter maxCost: what deciding may cost, in units of about 50 ns; nil for the limit of rules alone.
    /// - Throws: `RealtimeFailure` with the code `denied`, `DecisionTooCostly` if deciding would cost more than `maxCost`, or
    ///   what reading throws.
    func requireRead(
        of path: RealtimePath, _ query: RealtimeQuery?, as principal: RealtimePrincipal, in state: RealtimeSnapshot,
        now: Int64, maxCost: Int? = nil, _ observer: RulesObserver
    ) throws {
        guard case .client(let auth) = principal else { return }
        switch self {
        case .open: return
        case .closed: throw RealtimeFailure.denied
        case .rules(let rules):
            let request = DatabaseRulesRequest.read(
                path.keys.map(\.string), query.map { DatabaseRulesQuery($0) }, auth: auth?.variable ?? .null, now: now)
            let decision = try rules.decide(
                request, before: SnapshotRulesData(snapshot: state), detail: observer.detail, maxCost: maxCost)
            if maxCost != nil, decision.isTooCostly { throw DecisionTooCostly() }
            try observer.require(decision, of: rules)
        }
    }

    /// Refuses a write that no rule can allow, whatever there is and is written.
    ///
    /// - Throws: `RealtimeFailure` with the code `denied`.
    func requirePossibleWrite(
        of path: RealtimePath, as principal: RealtimePrincipal, now: Int64, _ observer: RulesObserver
    ) throws {
        guard case .client(let auth) = principal else { return }
        switch self {
        case .open: return
        case .closed: throw RealtimeFailure.denied
        case .rules(let rules):
            let keys = path.keys.map(\.string)
            guard !rules.mayAllowWrite(at: keys) else { return }
            let request = DatabaseRulesRequest.write([keys], auth: auth?.variable ?? .null, now: now)
            try observer.require(try rules.decide(request, before: NoRulesData(), detail: observer.detail), of: rules)
        }
    }

    /// - Throws: as ``requireRead(of:_:as:in:now:maxCost:_:)``.
    func requireWrite(
        _ write: RealtimeWrite, as principal: RealtimePrincipal, before: RealtimeSnapshot, after: RealtimeSnapshot,
        now: Int64, maxCost: Int? = nil, _ observer: RulesObserver
    ) throws {
        guard case .client(let auth) = principal else { return }
        switch self {
        case .open: return
        case .closed: throw RealtimeFailure.denied
        case .rules(let rules):
            let paths = write.targets.map { $0.path.keys.map(\.string) }
            let request = DatabaseRulesRequest.write(paths, auth: auth?.variable ?? .null, now: now)
            let decision = try rules.decide(
                request, before: SnapshotRulesData(snapshot: before), after: SnapshotRulesData(snapshot: after),
                detail: observer.detail, maxCost: maxCost)
            if maxCost != nil, decision.isTooCostly { throw DecisionTooCostly() }
            try observer.require(decision, of: rules)
            // Whether a condition holds tells what is there.
            guard case .set(let target, _, ifHash: .some) = write else { return }
            try requireRead(
                of: target.path, nil, as: principal, in: before, now: now, maxCost: maxCost.map { $0 - decision.cost },
                observer)
        }
    }
}

/// A tree without nodes, for a decision that depends on none.
private struct NoRulesData: DatabaseRulesData {
    func value(at path: ArraySlice<String>) -> DatabaseRulesValue { .null }
    func priority(at path: ArraySlice<String>) -> DatabaseRulesValue { .null }
    func childNames(at path: ArraySlice<String>, limit: Int) -> [String] { [] }
}

/// Ends a decision that needs a node.
private struct UnavailableRulesData: DatabaseRulesData {
    private struct NeedsNode: Error {}

    func value(at path: ArraySlice<String>) throws -> DatabaseRulesValue { throw NeedsNode() }
    func priority(at path: ArraySlice<String>) throws -> DatabaseRulesValue { throw NeedsNode() }
    func childNames(at path: ArraySlice<String>, limit: Int) throws -> [String] { throw NeedsNode() }
}

extension RealtimeFailure {
    static let denied = RealtimeFailure(.denied, "Permission denied")
}

/// Learns of decisions: for the log in development, and for the coverage of rules.
struct RulesObserver: Sendable {
    var detail = DatabaseRulesDecision.Detail.rules
    var decided: @Sendable (DatabaseRulesDecision, DatabaseRules) -> Void = { _, _ in }

    func require(_ decision: DatabaseRulesDecision, of rules: DatabaseRules) throws {
        decided(decision, rules)
        guard decision.isAllowed else { throw RealtimeFailure.denied }
    }
}
