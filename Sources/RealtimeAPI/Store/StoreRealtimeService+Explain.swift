package import RealtimeModel
import RealtimeStore
package import SecurityRules
import StrictJSON
import Synchronization

/// What a client might ask for.
package enum RealtimeOperation: Sendable {
    case read(RealtimePath, RealtimeQuery?)
    case write(RealtimeWrite)
}

extension StoreRealtimeService {
    /// Decides on an operation of a client, with the database's data, and tells why. Nothing is written.
    ///
    /// - Parameter rules: those to decide by.
    /// - Throws: ``RealtimeServiceError`` if the data can't be read.
    package func explain(
        _ operation: RealtimeOperation, in name: String, by rules: DatabaseRules, as principal: RealtimePrincipal
    ) async throws -> DatabaseRulesDecision {
        guard case .client(let auth) = principal else { throw RealtimeServiceError.failed("admins have no rules") }
        _ = try database(name)
        let variable = auth?.variable ?? .null
        let now = shared.now()
        do {
            switch operation {
            case .read(let path, let query):
                return try await shared.store.read(in: name) { state in
                    let request = DatabaseRulesRequest.read(
                        path.keys.map(\.string), query.map { DatabaseRulesQuery($0) }, auth: variable, now: now)
                    return try rules.decide(request, before: SnapshotRulesData(snapshot: state), detail: .values)
                }
            case .write(let write):
                let decision = DecisionBox()
                let request = RealtimeCommit([write], in: name) { before, after, now, _ in
                    let paths = write.targets.map { $0.path.keys.map(\.string) }
                    decision.set(
                        try rules.decide(
                            .write(paths, auth: variable, now: now), before: SnapshotRulesData(snapshot: before),
                            after: SnapshotRulesData(snapshot: after), detail: .values))
                }
                let result = await withCheckedContinuation { continuation in
                    shared.store.check(request) { continuation.resume(returning: $0) }
                }
                try result.get()
                guard let decision = decision.value else {
                    throw RealtimeServiceError.failed("the write asks nothing of the rules")
                }
                return decision
            }
        } catch let failure as RealtimeFailure {
            throw RealtimeServiceError(failure, of: name)
        }
    }
}

private final class DecisionBox: Sendable {
    private let decision = Mutex<DatabaseRulesDecision?>(nil)

    func set(_ decision: DatabaseRulesDecision) { self.decision.withLock { $0 = decision } }
    var value: DatabaseRulesDecision? { decision.withLock { $0 } }
}
