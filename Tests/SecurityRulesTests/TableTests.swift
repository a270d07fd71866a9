import DocumentModel
import RulesTesting
import Testing

@testable import SecurityRules

@Suite struct TableTests {
    /// All rows of the table that differ, so that one run shows them all.
    @Test func conditionsHoldAsTheTableSays() throws {
        var differences: [String] = []
        let auth = TestRules.user("ada", try TestRules.claims(ExpressionTable.claims))
        for row in ExpressionTable.rows {
            let result: Bool?
            var reason = ""
            do {
                let rules = try Ruleset(TestRules.file("match /t/{id} { allow get: if \(row.condition); }"))
                let decision = try rules.decide(TestRules.get("t/x", auth), TestRules.documents())
                result = decision.isAllowed
                reason = decision.explanation
            } catch let error as InvalidRules {
                result = nil
                reason = error.diagnostics.first { $0.severity == .error }?.message ?? ""
            }
            if result != row.holds {
                differences.append("\(row.condition): \(result.map { "\($0)" } ?? "invalid") (\(reason))")
            }
        }
        #expect(differences == [])
    }

    @Test func queriesAreAllowedAsTheTableSays() throws {
        var differences: [String] = []
        for row in QueryTable.rows {
            let rules = try Ruleset(TestRules.file("match \(row.match) { allow list: if \(row.condition); }"))
            let decision = try rules.decide(
                TestRules.list(row.query, below: row.parent),
                TestRules.documents([TestRules.document("zz/yy", ["a": .integer(1)])]))
            if decision.isAllowed != row.isAllowed {
                differences.append(
                    "\(row.match) \(row.condition) \(row.query): \(decision.isAllowed) (\(decision.explanation))")
            }
        }
        #expect(differences == [])
    }
}
