import DocumentModel
import TestSupport
import Testing

@testable import SecurityRules

/// A query that is allowed returns no document that the rules would refuse.
@Suite struct SoundnessTests {
    private static let fields = ["a", "b", "c"]
    private static let values: [Value] = [
        .null, .boolean(true), .boolean(false), .integer(1), .integer(2), .string("x"), .string("y"), .double(1.5),
        .array([.integer(1), .string("x")]), .array([]), .map(["d": .integer(1)]), .map([:]),
        .vector([1]), .vector([2]),
        // To rules, these are the same path.
        reference("demo"), reference("other"), .map(["d": reference("other")]),
    ]
    private static func reference(_ project: String) -> Value {
        .reference(
            DocumentName(
                database: DatabaseID(project: project), path: DocumentPath(unchecked: "t/x")))
    }
    private static let literals = [
        "null", "true", "false", "1", "2", "'x'", "'y'", "1.5", "[1, 'x']", "[]", "{'d': 1}", "{}", "request.auth.uid",
        "/databases/$('(default)')/documents/t/x",
    ]

    private struct Generator {
        var random: SeededGenerator

        mutating func pick<T>(_ all: [T]) -> T { all[Int(random.next() % UInt64(all.count))] }

        mutating func document() throws -> Document {
            var fields: [String: Value] = [:]
            for name in SoundnessTests.fields where random.next() % 3 > 0 { fields[name] = pick(SoundnessTests.values) }
            return try TestRules.document("t/x", fields)
        }

        mutating func filter(_ depth: Int = 2) -> Query.Filter {
            let path = FieldPath(segments: [pick(SoundnessTests.fields)])
            switch random.next() % (depth > 0 ? 6 : 4) {
            case 0:
                return .field(
                    path, pick([.equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual]),
                    pick(SoundnessTests.values))
            case 1:
                return .field(
                    path, pick([.in, .notIn, .arrayContainsAny]),
                    .array([pick(SoundnessTests.values), pick(SoundnessTests.values)]))
            case 2: return .field(path, .arrayContains, pick(SoundnessTests.values))
            case 3: return .unary(path, pick([.isNull, .isNotNull]))
            case 4: return .and([filter(depth - 1), filter(depth - 1)])
            default: return .or([filter(depth - 1), filter(depth - 1)])
            }
        }

        mutating func condition(_ depth: Int = 3) -> String {
            let field = "resource.data.\(pick(SoundnessTests.fields))"
            guard depth > 0 else { return "\(field) == \(pick(SoundnessTests.literals))" }
            switch random.next() % 14 {
            case 0: return "(\(condition(depth - 1)) && \(condition(depth - 1)))"
            case 1: return "(\(condition(depth - 1)) || \(condition(depth - 1)))"
            case 2: return "!(\(condition(depth - 1)))"
            case 3: return "(\(condition(depth - 1)) ? \(condition(depth - 1)) : \(condition(depth - 1)))"
            case 4: return "(\(field) ? 'x' : 1) \(pick(["==", "!="])) \(pick(SoundnessTests.literals))"
            case 5: return "\(field) \(pick(["<", "<=", ">", ">=", "==", "!="])) \(pick(SoundnessTests.literals))"
            case 6: return "\(pick(SoundnessTests.literals)) \(pick(["<", ">=", "==", "!="])) \(field)"
            case 7: return "\(field) in [\(pick(SoundnessTests.literals)), \(pick(SoundnessTests.literals))]"
            case 8: return "\(pick(SoundnessTests.literals)) in \(field)"
            case 9: return "\(field) is \(pick(["bool", "number", "string", "list", "map", "vector"]))"
            case 10: return "\(field).\(pick(["hasAny", "hasAll", "hasOnly"]))(\(pick(["[]", "[1]", "['x', 1]"])))"
            case 11: return "'\(pick(SoundnessTests.fields))' in resource.data"
            case 12: return "resource.data.get('\(pick(SoundnessTests.fields))', 1) == \(pick(SoundnessTests.literals))"
            default:
                return pick([
                    "\(field).keys().hasAll([])", "\(field).keys() is list", "\(field) in []", "\(field).d == 1",
                    "resource.data.keys().hasAny(['a'])", "resource.data.size() > 0", "\(field)[0] == 1",
                    "(resource ? 1 : 2) == 1",
                ])
            }
        }
    }

    /// Whether the store would return the document: its comparisons, written down once more.
    private static func returns(_ document: Document, _ filter: Query.Filter) -> Bool {
        func order(_ value: Value) -> Int {
            switch value {
            case .null: 0
            case .boolean: 1
            case .integer, .double: 2
            case .string: 3
            case .array: 4
            default: 5
            }
        }
        func number(_ value: Value) -> Double? {
            switch value {
            case .integer(let value): Double(value)
            case .double(let value): value
            default: nil
            }
        }
        switch filter {
        case .and(let all): return all.allSatisfy { returns(document, $0) }
        case .or(let all): return all.contains { returns(document, $0) }
        case .unary(let path, let operation):
            guard let value = document[path] else { return false }
            return (value == .null) == (operation == .isNull)
        case .field(let path, let operation, let wanted):
            guard let value = document[path] else { return false }
            func less(_ a: Value, _ b: Value) -> Bool? {
                guard order(a) == order(b) else { return nil }
                if let a = number(a), let b = number(b) { return a < b }
                switch (a, b) {
                case (.boolean(let a), .boolean(let b)): return !a && b
                case (.string(let a), .string(let b)): return a < b
                default: return nil
                }
            }
            switch operation {
            case .equal: return value == wanted
            case .notEqual: return value != .null && value != wanted
            case .lessThan: return less(value, wanted) == true
            case .lessThanOrEqual: return less(value, wanted) == true || value == wanted && order(value) < 4
            case .greaterThan: return less(wanted, value) == true
            case .greaterThanOrEqual: return less(wanted, value) == true || value == wanted && order(value) < 4
            case .in: if case .array(let all) = wanted { return all.contains(value) }
            case .notIn:
                if case .array(let all) = wanted {
                    return value != .null && !all.contains(value) && !all.contains(.null)
                }
            case .arrayContains: if case .array(let elements) = value { return elements.contains(wanted) }
            case .arrayContainsAny:
                if case .array(let elements) = value, case .array(let all) = wanted {
                    return elements.contains { all.contains($0) }
                }
            }
            return false
        }
    }

    /// Its documents may refer to the one of this project, which the rule refuses.
    @Test(arguments: [
        Query.Filter.field(FieldPath(segments: ["a"]), .notEqual, reference("other")),
        .field(FieldPath(segments: ["a"]), .notIn, .array([reference("other")])),
    ])
    func whatIsNotADocumentOfAnotherProjectMayBeOneOfThis(filter: Query.Filter) throws {
        let rules = try Ruleset(
            TestRules.file(
                "match /t/{id} { allow read: if resource.data.a != /databases/$(database)/documents/t/x; }"))
        var query = Query(collectionID: "t")
        query.filter = filter
        let list = RulesRequest(
            .list, database: "(default)", path: ["t"], auth: TestRules.user("x"), time: TestRules.time, query: query)
        #expect(try !rules.decide(list, TestRules.documents()).isAllowed)
    }

    /// A letter with an accent can be written in two ways.
    @Test(arguments: [("\u{E9}", true), ("e\u{301}", false)])
    func aFieldThatLooksAlikeIsAnotherOne(name: String, isAllowed: Bool) throws {
        let conditions: [(condition: String, filter: Query.Filter)] = [
            ("resource.data['\u{E9}'] == 'x'", .field(FieldPath(segments: [name]), .equal, .string("x"))),
            ("resource.data['\u{E9}'] > 1", .field(FieldPath(segments: [name]), .greaterThan, .integer(1))),
            ("'x' in resource.data['\u{E9}']", .field(FieldPath(segments: [name]), .arrayContains, .string("x"))),
            ("'\u{E9}' in resource.data", .unary(FieldPath(segments: [name]), .isNotNull)),
            ("resource.data['\u{E9}'] != 1", .field(FieldPath(segments: [name]), .notEqual, .integer(1))),
            ("resource.data['\u{E9}'] is number", .field(FieldPath(segments: [name]), .lessThan, .integer(1))),
        ]
        for (condition, filter) in conditions {
            let rules = try Ruleset(TestRules.file("match /t/{id} { allow read: if \(condition); }"))
            var query = Query(collectionID: "t")
            query.filter = filter
            let list = RulesRequest(
                .list, database: "(default)", path: ["t"], auth: TestRules.user("x"), time: TestRules.time,
                query: query)
            #expect(try rules.decide(list, TestRules.documents()).isAllowed == isAllowed, "\(condition)")
        }
    }

    @Test func whatIsAllowedIsAllowedForEachDocument() async throws {
        var allowed = 0
        try await FuzzRounds.run("what queries prove", count: 4000) { random, seed in
            var generator = Generator(random: random)
            let condition = generator.condition()
            let rules = try Ruleset(TestRules.file("match /t/{id} { allow read: if \(condition); }"))
            var query = Query(collectionID: "t")
            query.filter = generator.filter()
            let list = RulesRequest(
                .list, database: "(default)", path: ["t"], auth: TestRules.user("x"), time: TestRules.time, query: query
            )
            guard try rules.decide(list, TestRules.documents()).isAllowed else { return }
            allowed += 1
            for _ in 0..<40 {
                let document = try generator.document()
                guard let filter = query.filter, Self.returns(document, filter) else { continue }
                let get = try rules.decide(TestRules.get("t/x", TestRules.user("x"), document), TestRules.documents())
                #expect(
                    get.isAllowed,
                    "seed \(seed): \(condition), \(filter), \(document.fields): \(get.explanation)")
            }
        }
        #expect(allowed > 50 || FuzzRounds.seconds != nil)
    }
}
