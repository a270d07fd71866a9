import StrictJSON
import Testing

@testable import SecurityRules

/// What decisions remember, and what is counted.
@Suite struct DatabaseExplanationTests {
    private static let text = #"""
        {
          "rules": {
            ".read": false,
            "users": { "$uid": {
              ".read": "$uid === auth.uid || auth.token.level > 2",
              ".write": "auth.uid == $uid",
              "name": { ".validate": "newData.isString() && newData.val().length < 5" }
            } }
          }
        }
        """#

    private static func trace(_ decision: DatabaseRulesDecision) -> [String] {
        decision.trace.map { "\($0.position) \($0.expression) = \($0.value)" }
    }

    @Test func aDenialNamesTheRulesThatWereTried() throws {
        let decision = try DatabaseSamples.reads(DatabaseRules(Self.text), "/users/bob", as: "ada")
        #expect(!decision.isAllowed)
        #expect(decision.steps.map(\.path) == ["/", "/users/bob"])
        #expect(
            decision.explanation
                == "/users/bob: .read at 3:5: false; .read at 5:7: 5:38: null > a number isn't possible")
        #expect(decision.trace.isEmpty)
        #expect(decision.grants.isEmpty)
    }

    @Test func anApprovalNamesTheRuleThatGranted() throws {
        let decision = try DatabaseSamples.reads(DatabaseRules(Self.text), "/users/ada/x", as: "ada")
        #expect(decision.isAllowed)
        #expect(decision.explanation == ".read at 5:7: true")
        #expect(decision.grants.map(\.position) == [SourcePosition(line: 5, column: 7)])
        #expect(decision.refusals.map(\.position) == [SourcePosition(line: 3, column: 5)])
    }

    @Test func valuesAreThoseOfTheExpressions() throws {
        let rules = try DatabaseRules(Self.text)
        let decision = try rules.decide(
            .read(["users", "bob"], auth: ["uid": "ada", "token": ["level": 1]], now: 0), before: DatabaseTree(.null),
            detail: .values)
        #expect(
            Self.trace(decision) == [
                "5:17 $uid = 'bob'", #"5:26 auth = {"uid":"ada","token":{"level":1}}"#, "5:26 auth.uid = 'ada'",
                "5:17 $uid === auth.uid = false", #"5:38 auth = {"uid":"ada","token":{"level":1}}"#,
                #"5:38 auth.token = {"level":1}"#, "5:38 auth.token.level = 1", "5:38 auth.token.level > 2 = false",
                "5:17 $uid === auth.uid || auth.token.level > 2 = false",
            ])
        #expect(decision.trace.map(\.isToken) == [false, true, false, false, true, true, false, false, false])
    }

    @Test func valuesAreShownForEachLocation() throws {
        let rules = try DatabaseRules(Self.text)
        let decision = try DatabaseSamples.writes(
            rules, [("/users/ada", #"{"name": "Augusta"}"#)], as: "ada", detail: .values)
        #expect(decision.deniedPath == "/users/ada/name")
        #expect(
            Self.trace(decision).suffix(5) == [
                "7:31 newData.isString() = true", "7:53 newData.val() = 'Augusta'", "7:53 newData.val().length = 7",
                "7:53 newData.val().length < 5 = false", "7:31 newData.isString() && newData.val().length < 5 = false",
            ])
        #expect(decision.steps.map(\.path) == ["/users/ada", "/users/ada/name"])
    }

    @Test func aReportIsForPeople() throws {
        let rules = try DatabaseRules(Self.text)
        #expect(
            try DatabaseSamples.writes(rules, [("/users/ada/name", "7")], as: "ada").report == [
                "denied at /users/ada/name", "  6:7  .write of /users/ada = true",
                "  7:17  .validate of /users/ada/name = false",
            ])
        #expect(
            try DatabaseSamples.writes(rules, [("/users/ada/name", "\"Ada\"")], as: "ada").report == [
                "allowed", "  6:7  .write of /users/ada = true", "  7:17  .validate = true",
            ])
        let valued = try DatabaseSamples.writes(rules, [("/users/ada/name", "null")], as: "ada", detail: .values)
        #expect(valued.report.suffix(2) == ["    6:30  $uid = 'ada'", "    6:18  auth.uid == $uid = true"])
        #expect(try DatabaseSamples.writes(rules, [("/x", "1")]).report == ["denied at /x", "  no rule grants it"])
    }

    @Test func anErrorIsTheLastValue() throws {
        let rules = try DatabaseRules(#"{"rules": {".read": "!(root.child('a').val() < 1) || true"}}"#)
        let decision = try rules.decide(
            .read([], auth: .null, now: 0), before: DatabaseTree(.null), detail: .values)
        #expect(
            Self.trace(decision) == [
                "1:24 root.child('a') = /a", "1:24 root.child('a').val() = null",
                "1:24 root.child('a').val() < 1 = error: null < a number isn't possible",
            ])
        #expect(
            decision.steps.map(\.outcome)
                == [.error("null < a number isn't possible", at: SourcePosition(line: 1, column: 24))])
    }

    @Test func longValuesAreCut() throws {
        let rules = try DatabaseRules(#"{"rules": {".write": "newData.val() == 'x'"}}"#)
        let decision = try DatabaseSamples.writes(
            rules, [("/", "\"\(String(repeating: "é", count: 5000))\"")], detail: .values)
        #expect(decision.trace.allSatisfy { $0.value.count <= 201 })
        #expect(decision.trace.count == 2)
    }

    @Test func theNumberOfValuesIsBounded() throws {
        let rules = try DatabaseRules(#"{"rules": {".write": true, "$k": {".validate": "newData.val() == 1"}}}"#)
        let many = JSONValue.object(JSONObject((0..<2000).map { ("k\($0)", .integer(1)) }))
        let decision = try rules.decide(
            .write([[]], auth: .null, now: 0), before: DatabaseTree(.null), after: DatabaseTree(many), detail: .values)
        #expect(decision.isAllowed)
        #expect(decision.trace.count == 1000)
    }

    // MARK: Coverage

    @Test func coverageCountsRulesAndConditions() throws {
        let rules = try DatabaseRules(Self.text)
        var coverage = DatabaseRulesCoverage(rules)
        #expect(coverage.statements.map(\.path) == ["/", "/users/$uid", "/users/$uid", "/users/$uid/name"])
        #expect(coverage.statements.map(\.kind) == [.read, .read, .write, .validate])
        #expect(coverage.statements.allSatisfy { $0.allowed == 0 && $0.refused == 0 })
        for uid in ["ada", "bob", nil] {
            let request = DatabaseRulesRequest.read(["users", "ada"], auth: DatabaseSamples.user(uid), now: 0)
            coverage.add(try rules.decide(request, before: DatabaseTree(.null), detail: .conditions))
        }
        #expect(coverage.statements.map(\.allowed) == [0, 1, 0, 0])
        #expect(coverage.statements.map(\.refused) == [3, 2, 0, 0])
        let conditions = coverage.statements[1].conditions
        #expect(
            conditions.map(\.expression) == [
                "$uid === auth.uid", "auth.token.level > 2", "$uid === auth.uid || auth.token.level > 2",
            ])
        #expect(conditions.map(\.trueCount) == [1, 0, 1])
        #expect(conditions.map(\.falseCount) == [2, 0, 0])
        #expect(conditions.map(\.errors) == [0, 2, 0])
        #expect(conditions.map(\.position.column) == [17, 38, 17])
        #expect(coverage.statements[0].conditions.isEmpty)
    }

    @Test func aDecisionWithoutDetailsIsCountedByRules() throws {
        let rules = try DatabaseRules(Self.text)
        var coverage = DatabaseRulesCoverage(rules)
        coverage.add(try DatabaseSamples.writes(rules, [("/users/ada/name", "\"Ada\"")], as: "ada"))
        coverage.add(try DatabaseSamples.writes(rules, [("/users/ada/name", "7")], as: "ada"))
        #expect(coverage.statements.map(\.allowed) == [0, 0, 2, 1])
        #expect(coverage.statements.map(\.refused) == [0, 0, 0, 1])
        #expect(coverage.statements[2].conditions.map(\.trueCount) == [0])
    }
}
