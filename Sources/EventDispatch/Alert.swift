package import DocumentModel
package import Workers

/// An event that the operator is notified of.
package struct Alert: Equatable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        /// A share of a function's budget is used, at which the operator is warned.
        case budgetWarning = "budget.warning"
        /// A function's budget is used up: it is paused until the next day.
        case budgetExhausted = "budget.exhausted"
    }

    package var kind: Kind
    package var function: String
    /// A sentence.
    package var message: String
    /// The used part of the budget.
    package var use: BudgetState.Use
    package var time: Timestamp
}

/// Receives alerts.
package protocol AlertSink: Sendable {
    /// Sends the alert later and returns immediately. Logs its own failures.
    func send(_ alert: Alert)
}
