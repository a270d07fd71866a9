package import DocumentModel
package import Workers

/// What the operator is to know without looking.
package struct Alert: Equatable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        /// A share of a function's budget is used.
        case budgetWarning = "budget.warning"
        /// A function's budget is used up: it is paused until the next day.
        case budgetExhausted = "budget.exhausted"
    }

    package var kind: Kind
    package var function: String
    /// A sentence.
    package var message: String
    /// What of the budget is used.
    package var use: BudgetState.Use
    package var time: Timestamp
}

/// Where alerts go.
package protocol AlertSink: Sendable {
    /// Sends it sooner or later; never waits, and tells of its own failures in the log.
    func send(_ alert: Alert)
}
