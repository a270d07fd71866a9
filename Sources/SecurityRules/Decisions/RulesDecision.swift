/// Whether a request is allowed, and why.
package struct RulesDecision: Sendable {
    /// The `allow` that allowed it; nil if none did.
    package let allow: Int?
    /// The `allow` statements that were tried and didn't, in order.
    package let refusals: [Refusal]
    /// The values of all expressions that were evaluated, if they were asked for.
    package let trace: [TracedValue]

    /// What deciding has cost, in the units of `AccessView`.
    let cost: Int

    /// Whether the store could read all documents that were asked for. If not, statements that were tried may allow it.
    let isComplete: Bool

    package var isAllowed: Bool { allow != nil }

    package struct Refusal: Sendable {
        /// Nil for a bound on the decision.
        let allow: Int?
        package let position: SourcePosition
        /// Nil if the condition was false, and if the request was allowed and no values were asked for.
        package let reason: String?
    }

    package struct TracedValue: Sendable {
        package let position: SourcePosition
        package let expression: String
        package let value: String
        /// Whether it has all claims of the user's token.
        package let isToken: Bool
    }

    /// One line for each `allow` that was tried: `3:7: false`.
    package var explanation: String {
        guard !refusals.isEmpty else { return "no rule matches" }
        return refusals.map { "\($0.position): \($0.reason ?? "false")" }.joined(separator: "; ")
    }
}
