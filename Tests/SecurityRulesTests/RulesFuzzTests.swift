import DocumentModel
import Foundation
import RulesTesting
import TestSupport
import Testing

@testable import SecurityRules

/// Files whose words were changed, and requests to those that still compile.
@Suite struct RulesFuzzTests {
    private static let words = [
        "match", "allow", "read", "write", "get", "list", "if", "function", "return", "let", "service",
        "cloud.firestore",
        "rules_version", "=", "'2'", ";", ":", ",", ".", "{", "}", "(", ")", "[", "]", "/", "/{a}", "/{a=**}", "/x",
        "$(", "==",
        "!=", "<", "&&", "||", "!", "-", "+", "*", "%", "?", "in", "is", "int", "path", "request", "resource", "auth",
        "data",
        "a", "f", "f()", "null", "true", "false", "1", "9223372036854775808", "1.5", "'x'", "\"", "'", "b'\\x00'", "//",
        "/*",
        "*/", "\n", "\u{1F600}", "e\u{301}", "'(a*)*'", ".matches(", ".get(",
        "exists(/databases/$(database)/documents/a/b)",
    ]

    private static let shop = Result {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "firestore.rules"), encoding: .utf8)
    }

    private func source(_ random: inout SeededGenerator) throws -> String {
        if Int.random(in: 0..<3, using: &random) == 0 {
            var conditions = RandomConditions(seed: random.next())
            let blocks = (0..<5).map { _ in "match /t/{id} { allow read, write: if \(conditions.condition()); }" }
            return TestRules.file(blocks.joined(separator: "\n"))
        }
        var parts = try Self.shop.get().split(omittingEmptySubsequences: false) { $0 == " " }.map(String.init)
        for _ in 0...Int.random(in: 0...6, using: &random) {
            let place = Int.random(in: 0..<parts.count, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: parts.remove(at: place)
            case 1: parts.insert(Self.words.randomElement(using: &random) ?? "", at: place)
            case 2: parts[place] = Self.words.randomElement(using: &random) ?? ""
            case 3: parts.swapAt(place, Int.random(in: 0..<parts.count, using: &random))
            default: parts.insert(contentsOf: parts[place..<min(place + 20, parts.count)], at: place)
            }
            if parts.isEmpty { parts = [""] }
        }
        return parts.joined(separator: " ")
    }

    private func value(_ random: inout SeededGenerator, depth: Int = 2) -> Value {
        let all: [Value] = [
            .null, .boolean(true), .integer(.min), .integer(1), .double(.nan), .double(-0.0), .string(""),
            .string("ada"),
            .bytes([0, 255]), .timestamp(TestRules.time), .geoPoint(GeoPoint(latitude: 1, longitude: 2)),
        ]
        switch depth > 0 ? Int.random(in: 0..<4, using: &random) : 0 {
        case 1: return .array((0..<Int.random(in: 0..<4, using: &random)).map { _ in value(&random, depth: depth - 1) })
        case 2: return .map(fields(&random, depth: depth - 1))
        default: return all.randomElement(using: &random) ?? .null
        }
    }

    private func fields(_ random: inout SeededGenerator, depth: Int = 2) -> [String: Value] {
        var fields: [String: Value] = [:]
        for name in ["owner", "quantity", "product", "a", "data"] where Bool.random(using: &random) {
            fields[name] = value(&random, depth: depth)
        }
        return fields
    }

    @Test func noFileAndNoRequestIsFatal() async throws {
        try await FuzzRounds.run("rules", count: 400) { random, seed in
            let text = try source(&random)
            let rules: Ruleset
            do throws(InvalidRules) { rules = try Ruleset(text) } catch {
                #expect(error.diagnostics.contains { $0.severity == .error }, "seed \(seed)")
                return
            }
            for _ in 0..<20 {
                let path =
                    ["users/ada", "users/ada/cart_items/1", "products/p", "t/x"].randomElement(using: &random) ?? ""
                let (old, new) = (
                    try TestRules.document(path, fields(&random)), try TestRules.document(path, fields(&random))
                )
                var request = TestRules.get(path, Bool.random(using: &random) ? TestRules.user() : .null, old)
                request.method = [.get, .list, .create, .update, .delete].randomElement(using: &random) ?? .get
                if request.method == .list {
                    request.path.removeLast()
                    request.query = Query(collectionID: request.path.last ?? "")
                    request.query?.filter = .field(FieldPath(segments: ["owner"]), .equal, value(&random))
                }
                request.written = new
                let documents = TestRules.documents([old])
                let first = try rules.decide(request, documents, isTraced: true)
                let second = try rules.decide(request, documents)
                #expect(first.isAllowed == second.isAllowed, "seed \(seed)")
            }
        }
    }
}
