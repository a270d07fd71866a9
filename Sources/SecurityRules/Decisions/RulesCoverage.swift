/// How often each `allow` has decided.
package struct RulesCoverage: Sendable {
    /// The outcomes of the conditions of one `allow`.
    package struct Statement: Sendable {
        package let position: SourcePosition
        package fileprivate(set) var allowed = 0
        /// False, an error, or not known.
        package fileprivate(set) var refused = 0
    }

    /// In the order of the file.
    package private(set) var statements: [Statement]

    init(_ ruleset: Ruleset) {
        statements = ruleset.allows.indices.map { Statement(position: ruleset.position(ofAllow: $0)) }
    }

    mutating func add(_ decision: RulesDecision) {
        if let allow = decision.allow { statements[allow].allowed += 1 }
        // A read is first decided where no other document can be read: what asks for one has refused nothing there.
        guard decision.isComplete else { return }
        for case let allow? in decision.refusals.map(\.allow) { statements[allow].refused += 1 }
    }
}
