/// How often each rule of a Realtime Database has decided.
package struct DatabaseRulesCoverage: Sendable {
    /// The outcomes of one rule.
    package struct Statement: Sendable {
        package let kind: DatabaseRuleKind
        /// The location as the file has it: `/users/$uid`.
        package let path: String
        package let position: SourcePosition
        package fileprivate(set) var allowed = 0
        /// False, or an error.
        package fileprivate(set) var refused = 0
        /// The conditions of the expression, in the order in which they get their values; none in a literal.
        package fileprivate(set) var conditions: [Condition] = []
    }

    /// The outcomes of a part of an expression. They are counted for decisions that have them, see
    /// ``DatabaseRulesDecision/Detail``.
    package struct Condition: Sendable {
        package let position: SourcePosition
        /// As the file has it; of a long one, the end.
        package let expression: String
        package fileprivate(set) var trueCount = 0
        package fileprivate(set) var falseCount = 0
        package fileprivate(set) var errors = 0
    }

    /// In the order of the file.
    package private(set) var statements: [Statement]
    /// The rule and the condition of an instruction.
    private var places: [Int32: (statement: Int, condition: Int)] = [:]

    package init(_ rules: DatabaseRules) {
        statements = rules.rules.map {
            Statement(kind: $0.kind, path: rules.pattern(of: $0.node), position: $0.position)
        }
        for (index, rule) in rules.rules.enumerated() where rule.literal == nil {
            for place in rule.code where rules.program.instructions[place].isCondition {
                let instruction = rules.program.instructions[place]
                places[Int32(place)] = (index, statements[index].conditions.count)
                statements[index].conditions.append(
                    Condition(
                        position: rules.position(of: place, in: rule),
                        expression: Self.text(rule.text.bytes[Int(instruction.start)..<Int(instruction.end)])))
            }
        }
    }

    /// In a long chain each `&&` begins at the chain's start: all of them together would be as large as its square.
    private static let maxExpressionBytes = 400

    /// An expression as the file has it; of a long one, the end.
    private static func text(_ bytes: some BidirectionalCollection<UInt8>) -> String {
        let end = bytes.suffix(maxExpressionBytes)
        guard end.count < bytes.count else { return String(decoding: bytes, as: UTF8.self) }
        return "…" + String(decoding: end.drop { $0 & 0xC0 == 0x80 }, as: UTF8.self)
    }

    package mutating func add(_ decision: DatabaseRulesDecision) {
        for step in decision.steps {
            if step.outcome == .holds { statements[step.rule].allowed += 1 } else { statements[step.rule].refused += 1 }
        }
        for outcome in decision.outcomes {
            guard let (statement, condition) = places[outcome.instruction] else { continue }
            switch outcome.value {
            case true: statements[statement].conditions[condition].trueCount += 1
            case false: statements[statement].conditions[condition].falseCount += 1
            default: statements[statement].conditions[condition].errors += 1
            }
        }
    }
}

extension DatabaseRules {
    /// The location of a node as the file has it: `/users/$uid`.
    func pattern(of node: Int) -> String {
        var names: [String] = []
        var place: Int? = node
        while let next = place, next > 0 {
            names.append(nodes[next].name)
            place = nodes[next].parent
        }
        return "/" + names.reversed().joined(separator: "/")
    }
}
