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
        guard case .client(let auth) = principal else { return true }
        switch self {
        case .open: return true
        case .closed: return false
        case .rules(let rules):
            let request = DatabaseRulesRequest.read(
                path.keys.map(\.string), nil, auth: auth?.variable ?? .null, now: now)
            let decision = rules.decideWithoutTree(request, detail: observer.detail, maxCost: Self.maxCostAtOnce)
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
        guard case .client(let auth) = principal else { return }
        switch self {
        case .open: return
        case .closed: throw RealtimeFailure.denied
        case .rules(let rules):
            let refusal = try rules.refusal(
                ofWriteAt: path.keys.map(\.string), auth: auth?.variable ?? .null, now: now,
                before: state.map { SnapshotRulesData(snapshot: $0) }, detail: observer.detail, maxCost: maxCost)
            guard let refusal else { return }
            if maxCost != nil, refusal.isTooCostly { throw DecisionTooCostly() }
            try observer.require(refusal, of: rules)
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
