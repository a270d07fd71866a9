import SecurityRules
import Synchronization

/// The decision of a database's rules that has cost most since they were loaded.
final class SlowestDecision: Sendable {
    struct Found: Hashable, Sendable {
        /// The rule that the decision ended with, such as `.write at 3:7`.
        var rule: String
        /// Estimated from what was evaluated.
        var seconds: Double
    }

    /// Most decisions cost less, and end with one comparison.
    private let cost = Atomic(0)
    private let found = Mutex<Found?>(nil)

    func note(_ decision: DatabaseRulesDecision) {
        guard decision.cost > cost.load(ordering: .relaxed), let last = decision.steps.last else { return }
        found.withLock { found in
            guard decision.cost > cost.load(ordering: .relaxed) else { return }
            cost.store(decision.cost, ordering: .relaxed)
            found = Found(
                rule: "\(last.kind.rawValue) at \(last.position)",
                seconds: Double(decision.cost) * DatabaseRulesDecision.secondsPerCost)
        }
    }

    var value: Found? { found.withLock { $0 } }

    func reset() {
        found.withLock { found in
            cost.store(0, ordering: .relaxed)
            found = nil
        }
    }
}
