package import DocumentModel
package import Logging
import Synchronization

/// Whether a function's invocations may begin: it isn't paused, and its budget isn't used up.
///
/// Checked for each invocation, so it takes a lock only if the function has a budget.
package final class FunctionGate: Sendable {
    package enum Refusal: Equatable, Sendable {
        case paused
        case budgetUsedUp
    }

    private let pausedFlag = Atomic(false)
    /// Whether its handlers' run time counts.
    package let hasBudget: Bool
    private let budget: Mutex<BudgetState?>
    private let observer = Mutex<(@Sendable ([BudgetState.Action]) -> Void)?>(nil)
    private let now: @Sendable () -> Timestamp

    package init(budget: BudgetState? = nil, now: @escaping @Sendable () -> Timestamp) {
        hasBudget = budget != nil
        self.budget = Mutex(budget)
        self.now = now
    }

    /// - Parameter observer: called on any thread with the actions that the budget requires.
    package func onBudget(_ observer: @escaping @Sendable ([BudgetState.Action]) -> Void) {
        self.observer.withLock { $0 = observer }
    }

    /// Whether the operator has paused the function.
    package var isPaused: Bool {
        get { pausedFlag.load(ordering: .relaxed) }
        set { pausedFlag.store(newValue, ordering: .relaxed) }
    }

    package var isBudgetUsedUp: Bool { hasBudget && budget.withLock { $0?.isOver } == true }

    package var isClosed: Bool { isPaused || isBudgetUsedUp }

    /// Admits an invocation, which then counts, or refuses it.
    package func admit() -> Refusal? {
        if isPaused { return .paused }
        guard hasBudget else { return nil }
        let answer = budget.withLock { $0?.admit(now: now()) }
        report(answer?.actions)
        return answer?.isAdmitted == false ? .budgetUsedUp : nil
    }

    /// An admitted invocation hasn't begun after all.
    ///
    /// - Parameter age: the time since it was admitted, in microseconds.
    package func refund(age: Int64 = 0) {
        guard hasBudget else { return }
        let admitted = Timestamp(microseconds: now().microseconds - age)
        report(budget.withLock { $0?.refund(admittedAt: admitted) })
    }

    /// A handler has run for this time.
    package func spent(microseconds: Int64) {
        report(budget.withLock { $0?.spent(microseconds: microseconds, now: now()) })
    }

    /// Checks whether a new day has begun.
    package func refresh() { if hasBudget { report(budget.withLock { $0?.refresh(now: now()) }) } }

    package func liftBudget() { budget.withLock { $0?.lift() } }

    /// The state of the budget, to be stored; nil without a budget.
    package var budgetRecord: [UInt8]? { budget.withLock { $0?.record } }

    private func report(_ actions: [BudgetState.Action]?) {
        guard let actions, !actions.isEmpty else { return }
        observer.withLock { $0 }?(actions)
    }
}

extension FunctionGate {
    /// A gate with the operator's budget and today's use of it. If the record can't be read, nothing counts as used: a
    /// damaged number must not prevent the host's start.
    package convenience init(
        _ function: String, budget: FunctionBudget?, record: [UInt8]?,
        now: @escaping @Sendable () -> Timestamp, logger: Logger
    ) {
        var state = budget.map { BudgetState($0, now: now()) }
        if let budget, let record {
            do {
                state = try BudgetState(budget, record: record)
            } catch {
                logger.error(
                    "what a function has used of its budget can't be read; nothing counts as used today",
                    metadata: ["function": "\(function)", "error": "\(error.reason)"])
            }
        }
        self.init(budget: state, now: now)
    }
}
