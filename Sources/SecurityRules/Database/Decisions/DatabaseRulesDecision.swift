/// Whether the rules of a Realtime Database allow a request, and why.
package struct DatabaseRulesDecision: Sendable {
    /// How much a decision remembers of its parts.
    package enum Detail: Sendable {
        case rules
        /// Also what each condition within the rules was, for ``DatabaseRulesCoverage``.
        case conditions
        /// Also all values, for an explanation.
        case values
    }

    /// A rule that was evaluated.
    package struct Step: Sendable {
        package enum Outcome: Sendable, Equatable {
            case holds
            case fails
            /// A value was of a wrong type, or the decision's limit was exceeded.
            case error(String, at: SourcePosition)
        }

        package let kind: DatabaseRuleKind
        /// The location at which it was evaluated: `/users/ada`. Nil for a validation that held, unless details were asked for.
        package var path: String? { location.map { "/" + $0.prefix(depth).joined(separator: "/") } }
        /// Where the rule stands.
        package let position: SourcePosition
        package let outcome: Outcome
        let rule: Int
        /// The path that was decided, of which the location is the beginning.
        let location: [String]?
        let depth: Int
    }

    package let isAllowed: Bool
    /// The rules that were evaluated, in order. A path of an update repeats what the path before it had in common only if
    /// that was denied.
    package let steps: [Step]
    /// The location that was denied; nil if all were allowed.
    package let deniedPath: String?
    /// Why it was denied, if that isn't a matter of a rule.
    package let reason: String?
    /// The values of all expressions that were evaluated, if they were asked for.
    package let trace: [RulesDecision.TracedValue]
    /// What deciding has cost, in steps of ``secondsPerCost``.
    package let cost: Int
    package static let secondsPerCost = 50e-9
    /// Whether it was denied because deciding would have cost more than it may.
    package let isTooCostly: Bool
    let outcomes: [DatabaseRecords.Outcome]

    /// The rules that have granted, in order; validations that held aren't among them.
    package var grants: [Step] { steps.filter { $0.kind != .validate && $0.outcome == .holds } }

    /// The rules that didn't hold, in order.
    package var refusals: [Step] { steps.filter { $0.outcome != .holds } }

    /// One line: `/users/ada: .read at 3:7: false; .read at 5:9: 5:18: null < a number isn't possible`.
    package var explanation: String {
        var parts = (isAllowed ? grants : refusals).map { step in
            let rule = "\(step.kind.rawValue) at \(step.position)"
            return switch step.outcome {
            case .holds: "\(rule): true"
            case .fails: "\(rule): false"
            case .error(let reason, let position): "\(rule): \(position): \(reason)"
            }
        }
        if let reason { parts.append(reason) }
        if parts.isEmpty { parts.append(isAllowed ? "nothing was asked for" : "no rule grants it") }
        return (deniedPath.map { "\($0): " } ?? "") + parts.joined(separator: "; ")
    }

    /// The decision in lines, for people: the rules that were evaluated, and the values below.
    package var report: [String] {
        var lines = [isAllowed ? "allowed" : "denied\(deniedPath.map { " at \($0)" } ?? "")"]
        for step in steps {
            let outcome =
                switch step.outcome {
                case .holds: "true"
                case .fails: "false"
                case .error(let reason, let position): "\(position): \(reason)"
                }
            lines.append("  \(step.position)  \(step.kind.rawValue)\(step.path.map { " of \($0)" } ?? "") = \(outcome)")
        }
        if let reason { lines.append("  \(reason)") }
        if steps.isEmpty, reason == nil { lines.append("  no rule grants it") }
        for value in trace {
            let expression = value.expression.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            lines.append("    \(value.position)  \(expression) = \(value.value)")
        }
        return lines
    }
}
