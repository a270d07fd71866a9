import StrictJSON
import Testing

@testable import SecurityRules

@Suite struct DatabaseExpressionTests {
    private static func isAllowed(_ expression: String, _ auth: JSONValue, _ tree: DatabaseTree) throws -> Bool {
        let file: JSONValue = ["rules": ["$key": [".read": .string(expression)]]]
        let rules = try DatabaseRules("\(file)")
        return try rules.decide(.read(["o"], auth: auth, now: DatabaseSamples.now), before: tree).isAllowed
    }

    private static func result(
        _ expression: String, _ auth: JSONValue, _ tree: DatabaseTree
    ) throws -> DatabaseExpressionTable.Result {
        do {
            if try isAllowed(expression, auth, tree) { return .holds }
            // An error isn't made good by what would hold, nor by its opposite.
            return try isAllowed("(\(expression)) || true", auth, tree) ? .fails : .error
        } catch is InvalidRules { return .refused }
    }

    private static func tree() throws -> DatabaseTree {
        DatabaseTree(
            try DatabaseSamples.json(DatabaseExpressionTable.data),
            priorities: DatabaseExpressionTable.priorities.mapValues { .double($0) })
    }

    /// All rows that differ, so that one run shows them all.
    @Test func expressionsAreWhatTheTableSays() throws {
        let auth = try DatabaseSamples.json(DatabaseExpressionTable.auth)
        let tree = try Self.tree()
        var differences: [String] = []
        for (expression, result) in DatabaseExpressionTable.rows {
            let seen = try Self.result(expression, auth, tree)
            if seen != result { differences.append("\(expression): \(seen.rawValue), not \(result.rawValue)") }
        }
        #expect(differences == [])
    }

    @Test func theTableHasEveryOperatorAndMethod() {
        let words = DatabaseToken.Symbol.allCases.map(\.rawValue).filter { !"()[].,:".contains($0) }
        let methods = (DatabaseMethod.ofSnapshots + DatabaseMethod.ofStrings).map { ".\($0.name)(" }
        let members = DatabaseQueryMember.allCases.map { "query.\($0.rawValue)" }
        for word in words + methods + members {
            #expect(
                DatabaseExpressionTable.rows.contains { $0.result == .holds && $0.expression.contains(word) }
                    || word.hasPrefix("query"), "\(word)")
        }
    }

    @Test(arguments: [
        ("auth == null", "true"), ("auth.uid == null", "true"), ("auth.token.email == null", "true"),
        ("auth.uid != 'evil'", "true"), ("auth.missing.length > 1 || true", "error"), ("auth.contains('a')", "error"),
        ("root.child('users/' + auth.uid).exists()", "error"), ("root.child(auth.uid).exists() == false", "error"),
        ("auth['uid'] == null", "true"), ("auth[$key] == null", "true"),
    ])
    func unauthenticatedClientsHaveNullAsAuth(expression: String, result: String) throws {
        #expect(try Self.result(expression, .null, Self.tree()).rawValue == result)
    }

    @Test(arguments: [
        ("query.orderByChild == 'foo/bar' && !query.orderByKey", DatabaseRulesQuery(order: .child("foo/bar"))),
        (
            "query.orderByValue && query.startAt == 'a' && query.endAt == 3",
            DatabaseRulesQuery(order: .value, startAt: .string("a"), endAt: .integer(3))
        ),
        (
            "query.orderByPriority && query.equalTo == true",
            DatabaseRulesQuery(order: .priority, equalTo: .boolean(true))
        ),
        ("query.limitToFirst == 10 && query.limitToLast == null", DatabaseRulesQuery(limitToFirst: 10)),
        ("query.limitToLast < 11", DatabaseRulesQuery(limitToLast: 10)),
        (
            "query.equalTo == 'x' && query.startAt == null",
            DatabaseRulesQuery(order: .key, start: (.string("x"), true), end: (.string("x"), true))
        ),
        (
            "query.equalTo == null && query.startAt == 'x' && query.endAt == 'x'",
            DatabaseRulesQuery(order: .key, start: (.string("x"), false), end: (.string("x"), true))
        ),
        (
            // The store finds what is between texts that differ in their bytes.
            "query.equalTo == null && query.startAt == 'K' && query.endAt == '\u{212A}'",
            DatabaseRulesQuery(order: .value, start: (.string("K"), true), end: (.string("\u{212A}"), true))
        ),
        (
            "query.startAt == 1 && query.endAt == null",
            DatabaseRulesQuery(order: .value, start: (.integer(1), true), end: nil)
        ),
    ])
    func queriesAreSeenByRules(expression: String, query: DatabaseRulesQuery) throws {
        let rules = try DatabaseRules(#"{"rules": {".read": "\#(expression)"}}"#)
        #expect(try DatabaseSamples.reads(rules, "/", query: query).isAllowed)
        #expect(try !DatabaseSamples.reads(rules, "/").isAllowed)
    }

    @Test func claimsAreComparedByTheirBytes() throws {
        func isAllowed(_ a: JSONValue, _ b: JSONValue) throws -> Bool {
            try Self.isAllowed("auth.a == auth.b", ["a": a, "b": b], DatabaseTree(.null))
        }
        #expect(try isAllowed(["x": ["K", 1], "y": [:]], ["y": [:], "x": ["K", 1]]))
        #expect(try !isAllowed(["x": "K"], ["x": "\u{212A}"]))
        #expect(try !isAllowed(["K": 1], ["\u{212A}": 1]))
        #expect(try !isAllowed(["K"], ["\u{212A}"]))
        #expect(try !isAllowed(["x": 1], ["x": 1, "y": 2]))
    }

    @Test(arguments: [
        (100, "100"), (1.5, "1.5"), (-0.0, "0"), (0.1, "0.1"), (1e21, "1e+21"),
        (123_456_789_012_345_683_968, "123456789012345680000"),
        (1.25e-7, "1.25e-7"), (0.000001, "0.000001"), (.leastNonzeroMagnitude, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (.nan, "NaN"), (-.infinity, "-Infinity"), (-12.5, "-12.5"), (12345.678, "12345.678"), (1e7, "10000000"),
    ])
    func numbersAreWrittenAsJavaScriptDoes(number: Double, text: String) {
        #expect(DatabaseOperand.text(number) == text)
    }

    @Test func anotherNumberInJSONIsTheSameNumber() throws {
        let rules = try DatabaseRules(
            #"{"rules": {".read": "root.child('n').val() == 3 && root.child('m').val() < 3.5"}}"#)
        #expect(try DatabaseSamples.reads(rules, "/", in: DatabaseTree(["n": 3.0, "m": 3])).isAllowed)
    }
}
