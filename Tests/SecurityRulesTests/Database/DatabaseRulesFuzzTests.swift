import Foundation
import StrictJSON
import TestSupport
import Testing

@testable import SecurityRules

/// Files whose words were changed, random expressions, and requests to those that compile.
@Suite struct DatabaseRulesFuzzTests {
    private static let words = [
        "auth", "auth.uid", "null", "true", "false", "now", "root", "data", "newData", "query.limitToFirst", "$uid",
        "$id",
        ".val()", ".child('a')", ".child(auth.uid)", ".parent()", ".hasChildren(['a'])", ".exists()", ".length",
        ".matches(/^(a*)*$/i)", ".replace('a', 'aa')", ".contains('')", "['a']", "==", "===", "!=", "<", ">=", "&&",
        "||", "!",
        "-", "+", "*", "/", "%", "?", ":", "(", ")", "[", "]", "{", "}", ",", ".", "'", "\"", "\\", "\\u0041", "//",
        "/*", "*/",
        "\n", "0", "1.5", "9223372036854775808", "\u{1F600}", "e\u{301}", "\".read\": true,",
        "\".validate\": \"newData.exists()\",",
        "\".indexOn\": \"a\",", "\"$x\": {", "\"a\": {", "}",
    ]
    private static let keys = [
        "open", "private", "ada", "widgets", "w", "color", "size", "likes", "p", "counts", "mine", "strings", "apple",
        "a", "\u{E9}",
    ]

    private func mutated(_ random: inout SeededGenerator) -> String {
        var parts = DatabaseAppRules.text.split(omittingEmptySubsequences: false) { $0 == " " }.map(String.init)
        for _ in 0..<random.pick([0, 1, 1, 1, 2, 4]) {
            let place = Int.random(in: 0..<parts.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: parts.remove(at: place)
            case 1: parts.insert(random.pick(Self.words), at: place)
            case 2: parts[place] = random.pick(Self.words)
            case 3: parts.swapAt(place, Int.random(in: 0..<parts.count, using: &random))
            case 4: parts[place] = String(parts[place].dropLast())
            default: parts.insert(contentsOf: parts[place..<min(place + 20, parts.count)], at: place)
            }
            if parts.isEmpty { parts = [""] }
        }
        return parts.joined(separator: " ")
    }

    private func tree(_ random: inout SeededGenerator, depth: Int = 4) -> JSONValue {
        switch depth > 0 ? Int.random(in: 0..<4, using: &random) : 0 {
        case 0:
            return random.pick([
                .null, true, 0, 9, 99.5, "red", "", "ada", .integer(DatabaseSamples.now),
                .string(String(repeating: "a", count: 300)),
            ])
        default:
            let names = (0..<Int.random(in: 0..<4, using: &random)).map { _ in random.pick(Self.keys) }
            return .object(JSONObject(names.map { ($0, tree(&random, depth: depth - 1)) }))
        }
    }

    private func path(_ random: inout SeededGenerator) -> [String] {
        (0..<Int.random(in: 0...4, using: &random)).map { _ in random.pick(Self.keys) }
    }

    private func auth(_ random: inout SeededGenerator) -> JSONValue {
        random.pick([
            .null, DatabaseSamples.user("ada"), DatabaseSamples.user("w"), "odd",
            ["uid": 7, "token": [1, ["a": true]]],
        ])
    }

    private func query(_ random: inout SeededGenerator) -> DatabaseRulesQuery? {
        random.pick([
            nil, DatabaseRulesQuery(limitToFirst: 3),
            DatabaseRulesQuery(order: .child("owner"), equalTo: .string("ada")),
            DatabaseRulesQuery(order: .priority, startAt: .integer(1), endAt: .boolean(true), limitToLast: 2),
        ])
    }

    /// What holds for all rules and requests.
    private func check(_ rules: DatabaseRules, _ random: inout SeededGenerator, _ seed: UInt64) throws {
        let before = DatabaseTree(tree(&random))
        let auth = auth(&random)
        let path = path(&random)
        let query = query(&random)
        let read = DatabaseRulesRequest.read(path, query, auth: auth, now: DatabaseSamples.now)
        let decision = try same(rules, read, before, before, seed)
        if decision.isAllowed {
            let below = DatabaseRulesRequest.read(
                path + self.path(&random), query, auth: auth, now: DatabaseSamples.now)
            #expect(try rules.decide(below, before: before).isAllowed, "seed \(seed): what is granted is granted below")
        }
        var paths: [[String]] = []
        for _ in 0...Int.random(in: 0...3, using: &random) {
            let path = self.path(&random)
            // No location of an update is within another.
            if !paths.contains(where: { $0.starts(with: path) || path.starts(with: $0) }) { paths.append(path) }
        }
        let after = before.setting(paths.map { ($0, tree(&random)) })
        let whole = try same(
            rules, .write(paths, auth: auth, now: DatabaseSamples.now), before, after, seed)
        let each = try paths.map {
            try rules.decide(.write([$0], auth: auth, now: DatabaseSamples.now), before: before, after: after)
        }
        if !each.contains(where: { $0.reason != nil }), whole.reason == nil {
            #expect(whole.isAllowed == each.allSatisfy(\.isAllowed), "seed \(seed): \(paths)")
            #expect(whole.deniedPath == each.first { !$0.isAllowed }?.deniedPath, "seed \(seed): \(paths)")
        }
    }

    /// Details and a bound on the cost don't change a decision, but to deny it.
    private func same(
        _ rules: DatabaseRules, _ request: DatabaseRulesRequest, _ before: DatabaseTree, _ after: DatabaseTree,
        _ seed: UInt64
    ) throws -> DatabaseRulesDecision {
        let plain = try rules.decide(request, before: before, after: after)
        let detailed = try rules.decide(request, before: before, after: after, detail: .values)
        #expect(plain.isAllowed == detailed.isAllowed && plain.cost == detailed.cost, "seed \(seed)")
        #expect(plain.explanation == detailed.explanation, "seed \(seed)")
        let bounded = try rules.decide(request, before: before, after: after, maxCost: plain.cost / 2)
        #expect(plain.isAllowed || !bounded.isAllowed, "seed \(seed)")
        for step in plain.steps {
            guard case .error(let reason, _) = step.outcome else { continue }
            #expect(
                !reason.contains("needs a boolean") && !reason.contains("isn't a snapshot"), "seed \(seed): \(reason)")
        }
        var coverage = DatabaseRulesCoverage(rules)
        coverage.add(detailed)
        #expect(
            coverage.statements.reduce(0) { $0 + $1.allowed + $1.refused } == detailed.steps.count, "seed \(seed)")
        return plain
    }

    @Test func noFileAndNoRequestIsFatal() async throws {
        var compiled = 0
        try await FuzzRounds.run("the database's rules", count: 300) { random, seed in
            let text = mutated(&random)
            let rules: DatabaseRules
            do throws(InvalidRules) { rules = try DatabaseRules(text) } catch {
                #expect(error.diagnostics.contains { $0.severity == .error }, "seed \(seed)")
                return
            }
            compiled += 1
            // The file without comments is JSON, and means the same.
            let strict = rules.strictJSON
            #expect(throws: Never.self, "seed \(seed)") { _ = try JSONValue(parsing: Array(strict.utf8)) }
            #expect(try DatabaseRules(strict).rules.count == rules.rules.count, "seed \(seed)")
            for _ in 0..<10 { try check(rules, &random, seed) }
        }
        #expect(compiled > 10 || FuzzRounds.seconds != nil)
    }

    // MARK: Expressions

    private struct Generator {
        var random: SeededGenerator

        mutating func boolean(_ depth: Int) -> String {
            guard depth > 0 else { return random.pick(["true", "false", "data.exists()", "auth != null"]) }
            switch Int.random(in: 0..<11, using: &random) {
            case 0: return "(\(boolean(depth - 1)) && \(boolean(depth - 1)))"
            case 1: return "(\(boolean(depth - 1)) || \(boolean(depth - 1)))"
            case 2: return "!(\(boolean(depth - 1)))"
            case 3: return "(\(boolean(depth - 1)) ? \(boolean(depth - 1)) : \(boolean(depth - 1)))"
            case 4: return "\(value(depth - 1)) \(random.pick(["==", "!=", "===", "!=="])) \(value(depth - 1))"
            case 5: return "\(value(depth - 1)) \(random.pick(["<", "<=", ">", ">="])) \(number(depth - 1))"
            case 6:
                return
                    "\(snapshot(depth - 1)).\(random.pick(["exists()", "isString()", "isNumber()", "isBoolean()", "hasChildren()"]))"
            case 7: return "\(snapshot(depth - 1)).hasChildren([\(string(depth - 1)), 'a'])"
            case 8:
                return
                    "\(string(depth - 1)).\(random.pick(["contains", "beginsWith", "endsWith"]))(\(string(depth - 1)))"
            case 9:
                return
                    "\(string(depth - 1)).matches(\(random.pick(["/a/", "/^[a-f]+$/i", "/(a|b)*c/", "/\\\\d{1,3}/"])))"
            default: return "\(snapshot(depth - 1)).hasChild(\(string(depth - 1)))"
            }
        }

        mutating func snapshot(_ depth: Int) -> String {
            guard depth > 0 else { return random.pick(["data", "root", "newData"]) }
            switch Int.random(in: 0..<3, using: &random) {
            case 0: return "\(snapshot(depth - 1)).child(\(string(depth - 1)))"
            case 1: return "\(snapshot(depth - 1)).parent()"
            default: return "(\(boolean(depth - 1)) ? \(snapshot(depth - 1)) : \(snapshot(depth - 1)))"
            }
        }

        mutating func string(_ depth: Int) -> String {
            guard depth > 0 else { return random.pick(["'a'", "'widgets/w'", "$k", "''", "'é'", "auth.uid"]) }
            switch Int.random(in: 0..<4, using: &random) {
            case 0: return "(\(string(depth - 1)) + \(random.pick([number(depth - 1), string(depth - 1)])) + '')"
            case 1: return "\(string(depth - 1)).replace(\(string(depth - 1)), \(string(depth - 1)))"
            case 2: return "\(string(depth - 1)).\(random.pick(["toLowerCase", "toUpperCase"]))()"
            default: return "\(snapshot(depth - 1)).val()"
            }
        }

        mutating func number(_ depth: Int) -> String {
            guard depth > 0 else { return random.pick(["0", "1", "-1", "2.5", "9007199254740993", "now"]) }
            return "(\(number(depth - 1)) \(random.pick(["+", "-", "*", "/", "%"])) \(number(depth - 1)))"
        }

        mutating func value(_ depth: Int) -> String {
            switch Int.random(in: 0..<5, using: &random) {
            case 0: return number(depth)
            case 1: return string(depth)
            case 2: return "\(snapshot(max(0, depth - 1))).val()"
            case 3: return "auth.token[\(string(0))]"
            default: return random.pick(["null", "auth.uid", "data.getPriority()", "auth.token.level"])
            }
        }
    }

    /// Expressions of right types compile, and have no wrong type where the language knows it.
    @Test func randomExpressionsDecide() async throws {
        try await FuzzRounds.run("the database's expressions", count: 400) { random, seed in
            var generator = Generator(random: SeededGenerator(seed: random.next()))
            let expression = generator.boolean(4)
            let file: JSONValue = [
                "rules": [
                    "$k": [".write": .string(expression), "$l": [".validate": .string(expression), ".write": true]]
                ]
            ]
            let rules: DatabaseRules
            do throws(InvalidRules) { rules = try DatabaseRules("\(file)") } catch {
                Issue.record("seed \(seed): \(expression): \(error)")
                return
            }
            for _ in 0..<5 { try check(rules, &random, seed) }
        }
    }
}
