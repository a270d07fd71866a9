import DocumentModel
import RealtimeModel
import RealtimeStore
import SecurityRules
import StrictJSON
import Synchronization

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
        do {
            var needsTree = false
            try decide(as: principal, maxCost: Self.maxCostAtOnce, observer) { rules, auth in
                let request = DatabaseRulesRequest.read(path.keys.map(\.string), nil, auth: auth, now: now)
                let decision = rules.decideWithoutTree(
                    request, detail: observer.detail, maxCost: Self.maxCostAtOnce)
                needsTree = decision == nil
                return decision
            }
            return needsTree ? nil : true
        } catch {
            return error is DecisionTooCostly ? nil : false
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
        try decide(as: principal, maxCost: maxCost, observer) { rules, auth in
            let request = DatabaseRulesRequest.read(
                path.keys.map(\.string), query.map { DatabaseRulesQuery($0) }, auth: auth, now: now)
            return try rules.decide(
                request, before: SnapshotRulesData(snapshot: state), detail: observer.detail, maxCost: maxCost)
        }
    }

    /// Refuses a write that is denied whatever is written. Most rules look at who writes first.
    ///
    /// - Parameters:
    ///   - state: the state before the write; nil to refuse only what is denied in any.
    ///   - maxCost: as above.
    /// - Throws: as ``requireRead(of:_:as:in:now:maxCost:_:)``.
    func requirePossibleWrite(
        of path: RealtimePath, as principal: RealtimePrincipal, in state: RealtimeSnapshot?, now: Int64,
        maxCost: Int?, _ observer: RulesObserver
    ) throws {
        try decide(as: principal, maxCost: maxCost, observer) { rules, auth in
            try rules.refusal(
                ofWriteAt: path.keys.map(\.string), auth: auth, now: now,
                before: state.map { SnapshotRulesData(snapshot: $0) }, detail: observer.detail, maxCost: maxCost)
        }
    }

    /// - Throws: as ``requireRead(of:_:as:in:now:maxCost:_:)``.
    func requireWrite(
        _ write: RealtimeWrite, as principal: RealtimePrincipal, before: RealtimeSnapshot, after: RealtimeSnapshot,
        now: Int64, maxCost: Int? = nil, _ observer: RulesObserver
    ) throws {
        let cost = try decide(as: principal, maxCost: maxCost, observer) { rules, auth in
            let paths = write.targets.map { $0.path.keys.map(\.string) }
            return try rules.decide(
                .write(paths, auth: auth, now: now), before: SnapshotRulesData(snapshot: before),
                after: SnapshotRulesData(snapshot: after), detail: observer.detail, maxCost: maxCost)
        }
        // Whether a condition holds tells what is there.
        guard let cost, case .set(let target, _, ifHash: .some) = write else { return }
        try requireRead(
            of: target.path, nil, as: principal, in: before, now: now, maxCost: maxCost.map { $0 - cost }, observer)
    }

    /// Decides by the rules, unless an operation is allowed or refused without them.
    ///
    /// - Parameter ask: asks them for the variable `auth`; nil if they decide nothing.
    /// - Returns: the cost of the decision; nil if there was none.
    /// - Throws: as ``requireRead(of:_:as:in:now:maxCost:_:)``.
    @discardableResult
    private func decide(
        as principal: RealtimePrincipal, maxCost: Int?, _ observer: RulesObserver,
        _ ask: (_ rules: DatabaseRules, _ auth: JSONValue) throws -> DatabaseRulesDecision?
    ) throws -> Int? {
        guard case .client(let auth) = principal else { return nil }
        switch self {
        case .open: return nil
        case .closed: throw RealtimeFailure.denied
        case .rules(let rules):
            guard let decision = try ask(rules, auth?.variable ?? .null) else { return nil }
            if maxCost != nil, decision.isTooCostly { throw DecisionTooCostly() }
            try observer.require(decision, of: rules)
            return decision.cost
        }
    }
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

/// What the decisions of one check have cost when it was made last. It isn't made twice at once.
final class CheckCost: Sendable {
    private let units = Atomic(0)

    init() {}

    /// In units of about 50 ns.
    var last: Int { units.load(ordering: .relaxed) }

    /// An observer for the next time, which notes what the decisions cost.
    func noting(_ observer: RulesObserver) -> RulesObserver {
        units.store(0, ordering: .relaxed)
        return RulesObserver(detail: observer.detail) { [self] decision, rules in
            units.add(decision.cost, ordering: .relaxed)
            observer.decided(decision, rules)
        }
    }
}
