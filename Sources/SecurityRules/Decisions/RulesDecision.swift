/// Whether a request is allowed, and why.
package struct RulesDecision: Sendable {
    /// The `allow` that allowed it; nil if none did.
    package let allow: Int?
    /// The `allow` statements that were tried and didn't.
    let refusing: [Int]
    /// Why each of them didn't.
    package let refusals: [Refusal]
    /// The values of all expressions that were evaluated, if they were asked for.
    package let trace: [TracedValue]

    package var isAllowed: Bool { allow != nil }

    package struct Refusal: Sendable {
        package let position: SourcePosition
        /// Nil if the condition was false.
        package let reason: String?
    }

    package struct TracedValue: Sendable {
        package let position: SourcePosition
        package let expression: String
        package let value: String
    }

    /// One line for each `allow` that was tried: `3:7: false`.
    package var explanation: String {
        guard !refusals.isEmpty else { return "no rule matches" }
        return refusals.map { "\($0.position): \($0.reason ?? "false")" }.joined(separator: "; ")
    }
}
