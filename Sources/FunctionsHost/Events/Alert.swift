import DocumentModel

/// What the operator is to know without looking.
struct Alert: Equatable, Sendable {
    enum Kind: String, Hashable, Sendable {
        /// A share of a function's budget is used.
        case budgetWarning = "budget.warning"
        /// A function's budget is used up: it is paused until the next day.
        case budgetExhausted = "budget.exhausted"
    }

    var kind: Kind
    var function: String
    /// A sentence.
    var message: String
    /// What of the budget is used.
    var use: BudgetState.Use
    var time: Timestamp
}

/// Where alerts go.
protocol AlertSink: Sendable {
    /// Sends it sooner or later; never waits, and tells of its own failures in the log.
    func send(_ alert: Alert)
}
