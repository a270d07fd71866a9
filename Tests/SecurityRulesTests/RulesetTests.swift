import DocumentModel
import Synchronization
import Testing

@testable import SecurityRules

/// Files, paths, functions and limits.
@Suite struct RulesetTests {
    private func diagnostics(_ text: String) -> [String] {
        do { return try Ruleset(text).warnings.map(\.description) } catch {
            return error.diagnostics.map(\.description)
        }
    }

    private func isAllowed(_ blocks: String, _ path: String, version: Int = 2) throws -> Bool {
        let rules = try Ruleset(TestRules.file(blocks, version: version))
        return try rules.decide(TestRules.get(path), TestRules.documents()).isAllowed
    }

    /// Values are compared as a whole, so large ones cost more.
    @Test(arguments: [
        "resource.data.l.hasAll(resource.data.m)", "resource.data.l.toSet().size() > 0",
        "resource.data.l.removeAll(resource.data.m).size() == 0",
        "resource.data.l.toSet().hasAny(resource.data.m)",
    ])
    func searchingLargeValuesIsPaidFor(condition: String) throws {
        func list(_ count: Int, of members: Int) -> Value {
            .array(
                (0..<count).map { number in
                    .map(Dictionary(uniqueKeysWithValues: (0..<members).map { ("f\($0)", .integer(Int64(number))) }))
                })
        }
        let rules = try Ruleset(TestRules.file("match /a/{b} { allow read: if \(condition); }"))
        for (count, members, isPossible) in [(20, 3, true), (100, 600, false)] {
            let document = try TestRules.document(
                "a/b", ["l": list(count, of: members), "m": list(count, of: members)])
            let decision = try rules.decide(TestRules.get("a/b", TestRules.user(), document), TestRules.documents())
            #expect(decision.isAllowed == isPossible, "\(count) of \(members)")
        }
    }

    /// Each element of a set is looked for among all of the other one.
    @Test(arguments: [
        "changed() == affected()", "!(changed() != affected())", "[changed()] == [affected()]",
        "changed() in [affected()]",
    ])
    func comparingLargeSetsIsPaidFor(condition: String) throws {
        let functions = """
            function changed() { return request.resource.data.diff(resource.data).changedKeys(); }
            function affected() { return request.resource.data.diff(resource.data).affectedKeys(); }
            """
        let rules = try Ruleset(TestRules.file("\(functions) match /a/{b} { allow update: if \(condition); }"))
        for (count, isPossible) in [(20, true), (3000, false)] {
            func document(_ value: Int64) throws -> Document {
                let fields = (0..<count).map { ("f\($0)", Value.integer(value)) }
                return try TestRules.document("a/b", Dictionary(uniqueKeysWithValues: fields))
            }
            let request = RulesRequest(
                .update, database: "(default)", path: ["a", "b"], auth: TestRules.user(), time: TestRules.time,
                resource: try document(1), written: try document(2))
            #expect(try rules.decide(request, TestRules.documents()).isAllowed == isPossible, "\(count)")
        }
    }

    /// A file's own patterns are compiled once; another is compiled each time.
    @Test func aPatternFromAValueIsPaidFor() throws {
        let condition = "'a'.matches(resource.data.p)"
        let rules = try Ruleset(TestRules.file("match /a/{b} { allow read: if \(condition) && \(condition); }"))
        for (count, isPossible) in [(10, true), (200_000, false)] {
            let pattern = String(repeating: "(?i)", count: count) + "a"
            let document = try TestRules.document("a/b", ["p": .string(pattern)])
            let decision = try rules.decide(TestRules.get("a/b", TestRules.user(), document), TestRules.documents())
            #expect(decision.isAllowed == isPossible, "\(count)")
        }
    }

    // MARK: Errors

    @Test(arguments: [
        ("", "1:1: error: the file is empty; it needs 'service cloud.firestore { … }'"),
        ("rules_version = '3';", "1:17: error: expected '1' or '2', found a string"),
        (TestRules.file("match /a/{b} { allow read if true; }"), "4:33: error: expected ':' before 'if', found 'if'"),
        (
            TestRules.file("match /a/{b} { allow read: if ; }"),
            "4:37: error: expected a condition after 'if', found ';'"
        ),
        (TestRules.file("match /a/{b} { allow read: if a = 1; }"), "4:39: error: expected ';', found '='"),
        (TestRules.file("match /a/{b { allow read; }"), "4:19: error: expected '}', found '{'"),
        (
            TestRules.file("match a/{b} { allow read; }"),
            "4:13: error: expected the path to match, such as /users/{user}, found 'a'"
        ),
        (TestRules.file("match /a/{b} { }"), "4:22: error: the 'match' block is empty"),
        (TestRules.file("match /a/{b}/{b} { allow read; }"), "4:21: error: the path captures 'b' twice"),
        (TestRules.file("match /a/{b=**}/{c=**} { allow read; }"), "4:7: error: a path can have one '**'"),
        (
            TestRules.file("function f() { } match /a/{b} { allow read: if f(); }"),
            "4:22: error: expected 'let' or 'return', found '}'"
        ),
        (
            TestRules.file(
                "function f() { return g(); } function g() { return f(); } match /a/{b} { allow read: if f(); }"),
            "4:16: error: a function can't call itself: f → g → f"
        ),
        (TestRules.file("match /a/{b} { allow read: if 'x; }"), "4:37: error: this string has no end; close it with '"),
        (
            TestRules.file("match /a/{b} { allow read: if 'a'.matches('('); }"),
            "4:49: error: the regular expression is invalid: '(' has no ')'"
        ),
        (
            TestRules.file("match /a/{b} { allow read: if 1 is integer; }"),
            "4:42: error: 'integer' is not a type; write bool, bytes, duration, float, int, latlng, list, map, number, path, string or timestamp"
        ),
    ])
    func anErrorIsReportedAtItsPlace(text: String, error: String) {
        #expect(diagnostics(text).contains(error), "\(diagnostics(text))")
    }

    @Test func allErrorsAreReported() {
        let text = TestRules.file("match /a/{b} { allow get if true; allow read: if ; allow write: if 1 is x; }")
        #expect(diagnostics(text).filter { $0.contains("error") }.count == 3)
    }

    @Test(arguments: [
        ("match /a/{b} { allow read; }", "4:22: warning: everybody may read these documents"),
        (
            "match /a/{b} { allow reed; }",
            "4:28: warning: 'reed' can't be allowed; write read, get, list, write, create, update or delete"
        ),
        ("match /a/{b} { allow read: if false; }", "4:22: warning: this never allows anything"),
        (
            "match /a/{b} { allow read; allow get: if b == 'x'; }",
            "4:34: warning: an 'allow' before allows this already"
        ),
        ("function f(x) { return true; } match /a/{b} { allow get: if f(1); }", "4:18: warning: 'x' isn't used"),
        (
            "function f() { return true; } match /a/{b} { allow get: if b == ''; }",
            "4:16: warning: the function 'f' isn't used"
        ),
        ("match /a/{b} { allow get: if c == 1; }", "4:36: warning: nothing declares 'c'; this has no value"),
        ("match /a/{b} { allow get: if g(); }", "4:36: warning: there is no function 'g'; this has no value"),
    ])
    func whatIsDoubtfulIsReported(blocks: String, warning: String) {
        #expect(diagnostics(TestRules.file(blocks)).contains(warning), "\(diagnostics(TestRules.file(blocks)))")
    }

    @Test func whatAllowsNoMethodIsNotOpen() {
        let warnings = diagnostics(TestRules.file("match /a/{b} { allow reed; }"))
        #expect(warnings.map { $0.contains("'reed' can't be allowed") } == [true], "\(warnings)")
    }

    @Test func aPathThatNoDocumentHasIsReported() {
        let text = "rules_version = '2'; service cloud.firestore { match /users/{u} { allow get: if u == 'a'; } }"
        #expect(diagnostics(text).contains { $0.contains("no document has this path") })
    }

    @Test(arguments: [
        ("match /{p=**}/a/{b} { match /c/{d} { allow get: if d == 'x'; } }", true),
        ("match /{p=**} { match /c/{d} { allow get: if d == 'x'; } }", false),
    ])
    func aBlockThatNeverFitsIsReported(blocks: String, isReported: Bool) {
        #expect(diagnostics(TestRules.file(blocks)).contains { $0.contains("never fits") } == isReported)
    }

    // MARK: Paths

    @Test(arguments: [
        ("match /a/{b} { allow get; }", "a/x", true), ("match /a/{b} { allow get; }", "a/x/c/y", false),
        ("match /a/x { allow get; }", "a/x", true), ("match /a/x { allow get; }", "a/y", false),
        ("match /a/{b} { match /c/{d} { allow get: if b == 'x' && d == 'y'; } }", "a/x/c/y", true),
        ("match /a/{b=**} { allow get: if b == /x/c/y; }", "a/x/c/y", true),
        ("match /{p=**}/c/{d} { allow get: if p == /a/x && d == 'y'; }", "a/x/c/y", true),
        ("match /{p=**}/c/{d} { allow get; }", "c/y", true), ("match /{p=**}/c/{d} { allow get; }", "c/y/e/z", false),
        ("match /a/{b} { allow list, write; }", "a/x", false), ("match /a/{b} { allow read; }", "a/x", true),
    ])
    func pathsFit(blocks: String, path: String, allowed: Bool) throws {
        #expect(try isAllowed(blocks, path) == allowed)
    }

    @Test func inVersion1AGlobNeedsASegment() throws {
        #expect(try !isAllowed("match /a/x/{b=**} { allow get; }", "a/x", version: 1))
        #expect(try isAllowed("match /a/x/{b=**} { allow get; }", "a/x", version: 2))
        #expect(throws: InvalidRules.self) { try isAllowed("match /{p=**}/c/{d} { allow get; }", "c/y", version: 1) }
    }

    /// As on the official emulator. In version 1 the outer one takes the whole rest of the path.
    @Test(arguments: [
        "match /{p=**} { match /{q=**} { allow get; } }",
        "match /{p=**} { match /b/{y} { match /{q=**} { allow get; } } }",
        "match /a/{p=**} { match /b/{q=**} { allow get; } }",
    ])
    func aGlobWithinAnotherIsRefused(blocks: String) throws {
        #expect(throws: InvalidRules.self) { try isAllowed(blocks, "a/x/b/y", version: 2) }
        #expect(try !isAllowed(blocks, "a/x/b/y", version: 1))
    }

    @Test func theWaysInWhichBlocksFitHaveABound() throws {
        let inner = String(repeating: "match /a/{x} { allow get: if false; } ", count: 40)
        let path = Array(repeating: "a", count: 60).joined(separator: "/")
        #expect(try isAllowed("match /{p=**} { \(inner) } match /{p=**} { allow get; }", "a/a"))
        #expect(try !isAllowed("match /{p=**} { \(inner) } match /{p=**} { allow get; }", path))
    }

    @Test(arguments: [(100, true), (101, false)]) func aPathHasABound(collections: Int, isAllowed: Bool) throws {
        let path = Array(repeating: "a/b", count: collections).joined(separator: "/")
        #expect(try self.isAllowed("match /{p=**} { allow get; }", path) == isAllowed)
        let rules = try Ruleset(TestRules.file("match /{p=**} { allow list; }"))
        func decide(_ query: Query) throws -> RulesDecision {
            let segments = (query.parent?.segments ?? []).map(String.init) + [query.collectionID]
            let request = RulesRequest(
                .list, database: "(default)", path: segments, auth: TestRules.user(), time: TestRules.time,
                query: query)
            return try rules.decide(request, TestRules.documents())
        }
        for isGroup in [false, true] {
            let below = Query(parent: try DocumentPath(path), collectionID: "c", allDescendants: isGroup)
            #expect(try decide(below).isAllowed == isAllowed)
        }
        var named = Query(collectionID: "a")
        named.filter = .field(
            .documentID, .equal,
            .reference(DocumentName(database: DatabaseID(project: "demo"), path: try DocumentPath(path))))
        let decision = try decide(named)
        #expect(decision.isAllowed == isAllowed)
        #expect(decision.explanation.contains("more than 100 collections") == !isAllowed)
    }

    /// Earlier versions stored deeper documents.
    @Test(arguments: [
        ("match /{p=**} { allow write: if resource.data.owner == 'ada'; }", 1500, true),
        ("match /{p=**}/a/{b} { allow write: if b == 'b'; }", 1500, true),
        ("match /{p=**} { match /a/{b} { allow write; } }", 101, true),
        ("match /{p=**} { match /a/{b} { allow write: if false; } allow write: if false; }", 1500, false),
    ])
    func aDeeperDocumentCanBeDeleted(blocks: String, collections: Int, isAllowed: Bool) throws {
        let path = Array(repeating: "a/b", count: collections).joined(separator: "/")
        let document = try TestRules.document(path, ["owner": .string("ada")])
        let rules = try Ruleset(TestRules.file(blocks))
        func decide(_ method: RulesMethods, _ resource: Document?, maxCost: Int? = nil) throws -> RulesDecision {
            let request = RulesRequest(
                method, database: "(default)", path: path.split(separator: "/").map(String.init),
                auth: TestRules.user(), time: TestRules.time, resource: resource, written: document)
            return try rules.decide(request, TestRules.documents(), maxCost: maxCost)
        }
        let decision = try decide(.delete, document)
        #expect(decision.isAllowed == isAllowed)
        #expect(decision.explanation.contains("too long for the blocks within") == !isAllowed)
        // Where less may be spent, it is decided again elsewhere.
        if !isAllowed { #expect(try decide(.delete, document, maxCost: 1000).cost > 1000) }
        // Only a document that exists, and only its deletion.
        for other in [try decide(.delete, nil), try decide(.update, document), try decide(.get, document)] {
            #expect(other.explanation.contains("more than 100 collections"))
        }
    }

    /// What is done for each character takes as long as many that are passed over.
    @Test(arguments: [
        "text().lower() == 'x'", "text().upper() == 'x'", "text()[0:90000] == 'x'", "float(text()) == 1.0",
        "int(text()) == 1", "path(text()) == id",
    ])
    func textsThatAreReadCost(condition: String) throws {
        let functions = "function text() { return resource.data.text; }"
        let rules = try Ruleset(
            TestRules.file("\(functions) match /t/{id} { allow get: if \(condition); }"))
        let text = String(repeating: "0", count: 100_000)
        let request = RulesRequest(
            .get, database: "(default)", path: ["t", "x"], auth: TestRules.user(), time: TestRules.time,
            resource: try TestRules.document("t/x", ["text": .string(text)]))
        #expect(try rules.decide(request, TestRules.documents()).cost > 20_000)
    }

    /// Names may stand for the same path many times.
    @Test(arguments: [
        ("/$(p)/$(p)", 12, true), ("/$(p)/$(p)", 13, false), ("path('/{p}/{p}').bind({'p': p})", 12, true),
        ("path('/{p}/{p}').bind({'p': p})", 13, false),
    ])
    func aPathThatIsMadeHasABound(doubled: String, times: Int, isAllowed: Bool) throws {
        let functions = (0..<times).map { "function f\($0)(p) { return f\($0 + 1)(\(doubled)); }" }
        let last = "function f\(times)(p) { return p is path; }"
        let rules = try Ruleset(
            TestRules.file(
                "\(functions.joined(separator: " ")) \(last) match /t/{id} { allow get: if f0(/a/b); }"))
        let decision = try rules.decide(TestRules.get("t/x"), TestRules.documents())
        #expect(decision.isAllowed == isAllowed)
        #expect(decision.explanation.contains("more than 10000 segments") == !isAllowed)
    }

    @Test(arguments: [
        ("my notes/x", true), ("my%20notes/x", false), ("a b+c%/x", true), ("a+b+c%/x", false),
    ])
    func aMatchNamesCollectionsPercentEncoded(path: String, allowed: Bool) throws {
        let blocks = "match /my%20notes/{id} { allow get; } match /a+b%2Bc%25/{id} { allow get; }"
        #expect(try isAllowed(blocks, path) == allowed)
    }

    @Test func aPercentSignInAPathBeginsAByte() throws {
        let error = #expect(throws: InvalidRules.self) { try isAllowed("match /a%zz/{id} { allow get; }", "a%zz/x") }
        #expect(error?.description.contains("'a%zz' isn't percent-encoded") == true)
    }

    @Test(arguments: [(10_000, true), (10_001, false)])
    func aPathFromATextHasABound(segments: Int, isAllowed: Bool) throws {
        let rules = try Ruleset(
            TestRules.file("match /t/{id} { allow get: if path(resource.data.text) is path; }"))
        let text = String(repeating: "/a", count: segments)
        let document = try TestRules.document("t/x", ["text": .string(text)])
        let decision = try rules.decide(TestRules.get("t/x", TestRules.user(), document), TestRules.documents())
        #expect(decision.isAllowed == isAllowed)
    }

    @Test func listsThatAreJoinedCost() throws {
        let rules = try Ruleset(
            TestRules.file("match /t/{id} { allow get: if [].concat(resource.data.list) is list; }"))
        let list = [Value](repeating: .integer(1), count: 10_000)
        let document = try TestRules.document("t/x", ["list": .array(list)])
        let decision = try rules.decide(TestRules.get("t/x", TestRules.user(), document), TestRules.documents())
        #expect(decision.isAllowed && decision.cost > 10_000)
    }

    // MARK: Functions

    @Test(arguments: [
        // Parameters and lets are evaluated when they are used.
        ("function f(a) { return true; }", "f(1 / 0)", true),
        ("function f() { let x = 1 / 0; return true || x == 1; }", "f()", true),
        ("function f() { let x = 1; let y = x + 1; return y == 2; }", "f()", true),
        ("function f() { let y = x; let x = 1; return y == 1; }", "f()", false),
        ("function f(a) { return true; }", "f()", false), ("function f(id) { return id == 5; }", "f(5)", true),
        // A function sees the names around it, not those of its caller.
        ("function f() { return id == 'x'; }", "f()", false),
        ("function f(q) { return g(); } function g() { return q == 1; }", "f(1)", false),
        // A function of the file hides one of the language.
        ("function get(x) { return x == 3; }", "get(3)", true),
        ("function f(a, b) { return g(b, a); } function g(a, b) { return a == 2 && b == 1; }", "f(1, 2)", true),
        ("function f(a) { let b = a; return b == a && g(b); } function g(c) { return c == 'x'; }", "f(id)", true),
    ])
    func functionsAreCalled(functions: String, condition: String, allowed: Bool) throws {
        #expect(try isAllowed("\(functions) match /t/{id} { allow get: if \(condition); }", "t/x") == allowed)
    }

    // MARK: Limits

    @Test(arguments: [(19, true), (20, true), (21, false)])
    func callsAreNestedTwentyDeep(depth: Int, isValid: Bool) {
        let functions = (0..<depth).map { "function f\($0)() { return f\($0 + 1)(); }" }.joined(separator: " ")
        let text = TestRules.file(
            "\(functions) function f\(depth)() { return true; } match /t/{id} { allow get: if f0(); }")
        #expect(((try? Ruleset(text)) != nil) == isValid)
    }

    @Test func limitsHaveTheirMessages() {
        func error(_ blocks: String, _ part: String) {
            let all = diagnostics(TestRules.file(blocks))
            #expect(all.contains { $0.contains("error") && $0.contains(part) }, "\(all)")
        }
        error(
            "function f(a,b,c,d,e,f,g,h) { return true; } match /t/{id} { allow get: if f(); }",
            "more than 7 parameters")
        let lets = (0...10).map { "let a\($0) = 1;" }.joined()
        error("function f() { \(lets) return true; } match /t/{id} { allow get: if f(); }", "more than 10 'let's")
        var nested = "allow get;"
        for index in 0..<10 { nested = "match /a/{b\(index)} { \(nested) }" }
        #expect((try? Ruleset(TestRules.file(nested))) != nil)
        error("match /a/{b} { \(nested) }", "nested more than 10 deep")
        error("match /\((0...20).map { "{c\($0)}" }.joined(separator: "/")) { allow get; }", "more than 20 names")
        error("match /\(String(repeating: "a/", count: 100))a { allow get; }", "more than 100 segments")
        error("match /a/{b} { allow get: if \(String(repeating: "(", count: 110))true; }", "nested more than 98 deep")
        #expect(diagnostics(String(repeating: " ", count: 262_145)).contains { $0.contains("262144 are allowed") })
    }

    @Test func aDecisionEvaluatesAThousandExpressions() throws {
        // Each call evaluates some more than twice as many as the next.
        let functions = (0..<9).map { "function f\($0)() { return f\($0 + 1)() && f\($0 + 1)(); }" }.joined(
            separator: " ")
        let text =
            "\(functions) function f9() { return true; } match /t/{id} { allow get: if f0(); allow get: if true; }"
        let rules = try Ruleset(TestRules.file(text))
        let decision = try rules.decide(TestRules.get("t/x"), TestRules.documents())
        #expect(decision.refusals.first?.reason?.contains("more than 1000 expressions") == true)
    }

    @Test func tenDocumentsAreRead() throws {
        func count(_ count: Int, same: Bool = false) throws -> Bool {
            let reads = (0..<count).map { "!exists(/databases/$(database)/documents/z/n\(same ? 0 : $0))" }
            return try isAllowed("match /t/{id} { allow get: if \(reads.joined(separator: " && ")); }", "t/x")
        }
        #expect(try count(10))
        #expect(try !count(11))
        #expect(try count(20, same: true))
    }

    @Test func theWorstSourceIsReadOrRefused() {
        for part in [
            "(", "[", "!", "a||", "{'a':", "f(", "/a", "a.", "1+", "match /a/{b} {", "if ", "'", "/*", "\u{1F600}",
        ] {
            _ = diagnostics(
                "rules_version='2'; service cloud.firestore { match /a/{b} { allow get: if "
                    + String(repeating: part, count: 50_000 / part.utf8.count))
        }
    }

    // MARK: Documents

    @Test func documentsAreRead() throws {
        let other = try TestRules.document("z/y", ["a": .integer(1), "when": .timestamp(TestRules.time)])
        let rules = try Ruleset(
            TestRules.file(
                """
                match /t/{id} {
                  allow get: if get(/databases/$(database)/documents/z/$(id)).data.a == resource.data.a
                    && get(/databases/$(database)/documents/z/y).data.when == request.time && resource.id == 'y';
                }
                """))
        let document = try TestRules.document("t/y", ["a": .integer(1)])
        #expect(
            try rules.decide(TestRules.get("t/y", TestRules.user(), document), TestRules.documents([other])).isAllowed)
        #expect(try !rules.decide(TestRules.get("t/y", TestRules.user(), document), TestRules.documents()).isAllowed)
    }

    /// A write is decided on the document as it would be, and `getAfter` sees the whole batch.
    @Test func writesSeeBothStates() throws {
        let rules = try Ruleset(
            TestRules.file(
                """
                match /t/{id} {
                  allow create: if request.resource.data.n == 1 && !('resource' in request.auth);
                  allow update: if request.resource.data.diff(resource.data).affectedKeys().hasOnly(['n'])
                    && getAfter(/databases/$(database)/documents/t/z).data.n == 2
                    && !exists(/databases/$(database)/documents/t/z);
                  allow delete: if resource.data.n > 1;
                }
                """))
        let (old, new) = (
            try TestRules.document("t/x", ["n": .integer(1), "k": .null]),
            try TestRules.document("t/x", ["n": .integer(2), "k": .null])
        )
        let after = try TestRules.document("t/z", ["n": .integer(2)])
        let documents = RulesDocuments(before: { _ in nil }, after: { $0 == after.path ? after : nil })
        func isAllowed(_ method: RulesMethods, _ old: Document?, _ new: Document?) throws -> Bool {
            let request = RulesRequest(
                method, database: "(default)", path: ["t", "x"], auth: TestRules.user(), time: TestRules.time,
                resource: old, written: new)
            return try rules.decide(request, documents).isAllowed
        }
        #expect(try isAllowed(.create, nil, old))
        #expect(try !isAllowed(.create, nil, new))
        #expect(try isAllowed(.update, old, new))
        #expect(try !isAllowed(.update, old, try TestRules.document("t/x", ["n": .integer(2)])))
        #expect(try isAllowed(.delete, new, nil))
        #expect(try !isAllowed(.delete, old, nil))
        #expect(try !isAllowed(.delete, nil, nil))
    }

    /// A letter with an accent can be written in two ways: fields with such names look alike, and are different.
    @Test(arguments: [
        ("affected().size() == 2", true), ("affected().hasOnly(['n'])", false),
        ("new().diff(old()).addedKeys().size() == 1", true), ("new().diff(old()).unchangedKeys().size() == 0", true),
        ("new() == old()", false), ("[new()] == [old()]", false), ("{'m': new()} == {'m': old()}", false),
        ("{'\u{E9}': 1} == {'e\u{301}': 1}", false), ("[new()].toSet() == [old()].toSet()", false),
        ("new().keys() == ['e\u{301}']", true), ("new().values() == [1]", true),
    ])
    func namesThatLookAlikeAreDifferent(condition: String, isAllowed: Bool) throws {
        let functions = """
            function new() { return request.resource.data; }
            function old() { return resource.data; }
            function affected() { return new().diff(old()).affectedKeys(); }
            """
        let rules = try Ruleset(TestRules.file("\(functions) match /t/{id} { allow update: if \(condition); }"))
        let request = RulesRequest(
            .update, database: "(default)", path: ["t", "x"], auth: TestRules.user(), time: TestRules.time,
            resource: try TestRules.document("t/x", ["\u{E9}": .integer(1)]),
            written: try TestRules.document("t/x", ["e\u{301}": .integer(1)]))
        #expect(try rules.decide(request, TestRules.documents()).isAllowed == isAllowed)
    }

    /// As the official emulator decides.
    @Test(arguments: [
        ("v is vector", true), ("v is map", false), ("v is list", false), ("v is number", false),
        ("v.size() == 2", false), ("v.keys().size() == 2", false), ("v.value.size() == 2", false),
        ("'value' in v", false), ("1.0 in v", false), ("v[0] == 1.0", false), ("v['value'] == [1.0, 2.0]", false),
        ("v.get('value', 5) == 5", false), ("v.diff(v).affectedKeys().size() == 0", false), ("v < other", false),
        ("v == {'__type__': '__vector__', 'value': [1.0, 2.0]}", false), ("v == [1.0, 2.0]", false),
        ("resource.data.get(['v', 'value'], 5) == 5", true), ("v == resource.data.same", true), ("v != other", true),
        ("v == other", false), ("v in [resource.data.same]", true), ("v in [other]", false),
        ("v in resource.data.list", false), ("[v].toSet().hasOnly([resource.data.same])", true),
        ("resource.data.map is map && resource.data.map.v is vector", true),
        ("resource.data.diff({'v': other}).changedKeys().hasOnly(['v'])", true),
        ("resource.data.diff({'v': resource.data.same}).changedKeys().size() == 0", true),
    ])
    func aVectorIsNoMap(condition: String, isAllowed: Bool) throws {
        let (v, other) = (Value.vector([1, 2]), Value.vector([1, 3]))
        let document = try TestRules.document(
            "a/b", ["v": v, "same": v, "other": other, "map": .map(["v": v]), "list": .array([.map(["d": v])])])
        let rules = try Ruleset(
            TestRules.file(
                "match /a/b { function holds(v, other) { return \(condition); } "
                    + "allow get: if holds(resource.data.v, resource.data.other); }"))
        let request = TestRules.get("a/b", TestRules.user(), document)
        #expect(try rules.decide(request, TestRules.documents()).isAllowed == isAllowed)
    }

    @Test(arguments: [
        ("resource.data.v is vector", true), ("resource.data.v is map", false), ("resource.data.v is list", false),
    ])
    func aQueryForAVectorFindsNoMaps(condition: String, isAllowed: Bool) throws {
        let rules = try Ruleset(TestRules.file("match /a/{b} { allow list: if \(condition); }"))
        var query = Query(collectionID: "a")
        for operation in [Query.Operator.equal, .greaterThan] {
            query.filter = .field(FieldPath(segments: ["v"]), operation, .vector([1, 2]))
            let request = RulesRequest(
                .list, database: "(default)", path: ["a"], auth: TestRules.user(), time: TestRules.time, query: query)
            #expect(try rules.decide(request, TestRules.documents()).isAllowed == isAllowed)
        }
    }

    @Test func refusalsAreExplained() throws {
        let rules = try Ruleset(
            TestRules.file("match /t/{id} { allow get: if id == 'y'; allow get: if resource.data.a == 1; }"))
        let decision = try rules.decide(TestRules.get("t/x"), TestRules.documents(), isTraced: true)
        #expect(decision.explanation == "4:23: false; 4:48: 4:62: null has no member 'data'")
        #expect(
            decision.trace.map { "\($0.position) \($0.expression) = \($0.value)" }.prefix(2) == [
                "4:37 id = 'x'", "4:37 id == 'y' = false",
            ])
    }

    /// As on the official emulator.
    @Test(arguments: [("x", true), ("y", false)])
    func theDocumentThatIsAskedForDoesNotCount(name: String, isAllowed: Bool) throws {
        let paths = ["t/\(name)"] + (0..<10).map { "n/x\($0)" }
        let condition = paths.map { "!exists(/databases/$(database)/documents/\($0))" }.joined(separator: " && ")
        let rules = try Ruleset(TestRules.file("match /t/{id} { allow get: if \(condition); }"))
        #expect(try rules.decide(TestRules.get("t/x"), TestRules.documents()).isAllowed == isAllowed)
    }

    /// As on the official emulator.
    @Test(arguments: [(10, true), (11, false)])
    func aDocumentBeforeAndAfterCountsOnce(count: Int, isAllowed: Bool) throws {
        let paths = (0..<count).map { "/databases/$(database)/documents/n/x\($0)" }
        let condition = paths.map { "!exists(\($0)) && !existsAfter(\($0))" }.joined(separator: " && ")
        let rules = try Ruleset(TestRules.file("match /t/{id} { allow read: if \(condition); }"))
        #expect(try rules.decide(TestRules.get("t/x"), TestRules.documents()).isAllowed == isAllowed)
    }

    /// A batch of many pairs, of which each document requires the other one.
    @Test(arguments: [true, false]) func whatABatchWritesIsReadForFree(isWritten: Bool) throws {
        let rules = ClientRules(
            .rules(
                try Ruleset(
                    TestRules.file(
                        """
                        match /a/{id} {
                          allow create: if !exists(/databases/$(database)/documents/a/$(id))
                            && existsAfter(/databases/$(database)/documents/b/$(id));
                        }
                        match /b/{id} {
                          allow create: if !exists(/databases/$(database)/documents/b/$(id))
                            && existsAfter(/databases/$(database)/documents/a/$(id));
                        }
                        """))))
        let policy = rules.policy(of: nil, in: DatabaseID(project: "demo"))
        let written = try (0..<21).flatMap { number in
            try ["a/\(number)", "b/\(number)"].map { try TestRules.document($0, [:]) }
        }
        let all = Dictionary(uniqueKeysWithValues: written.map { ($0.path, $0) })
        let view = AccessView(
            time: TestRules.time, isWritten: { isWritten && all[$0] != nil },
            document: { _ in nil }, documentAfter: { all[$0] })
        var refused = 0
        for document in written {
            do { try policy.check(.create(document), in: view) } catch { refused += 1 }
        }
        #expect((refused == 0) == isWritten)
        #expect((view.documentCount == 0) == isWritten)
    }

    /// Its client has asked for nothing, and learns nothing.
    @Test(arguments: [(true, 0), (false, 1)])
    func aTrialIsNeitherCountedNorReported(isTrial: Bool, count: Int) throws {
        let reports = Mutex(0)
        let ruleset = try Ruleset(TestRules.file("match /t/{id} { allow get: if resource.data.isPublic; }"))
        let rules = ClientRules(.rules(ruleset)) { _ in reports.withLock { $0 += 1 } }
        let policy = rules.policy(of: ClientIdentity(uid: "ada"), in: DatabaseID(project: "demo"))
        for isPublic in [true, false] {
            let document = try TestRules.document("t/x", ["isPublic": .boolean(isPublic)])
            let view = AccessView(
                time: TestRules.time, isTrial: isTrial, document: { _ in nil }, documentAfter: { _ in nil })
            var isAllowed = true
            do { try policy.check(.get(document.path, document), in: view) } catch { isAllowed = false }
            #expect(isAllowed == isPublic)
        }
        let statements = try #require(rules.coverage?.statements)
        #expect(statements.map(\.allowed) == [count])
        #expect(statements.map(\.refused) == [count])
        #expect(reports.withLock { $0 } == count)
    }

    /// A thread that reads no other documents decides what can be decided without them.
    @Test(arguments: [(true, 0), (false, 1)])
    func aStatementWithoutItsDocumentIsNotCounted(isUnavailable: Bool, refused: Int) throws {
        let rules = ClientRules(
            .rules(
                try Ruleset(
                    TestRules.file(
                        """
                        match /t/{id} {
                          allow get: if exists(/databases/$(database)/documents/members/$(request.auth.uid));
                          allow get: if resource.data.isPublic;
                        }
                        """))))
        let policy = rules.policy(of: ClientIdentity(uid: "ada"), in: DatabaseID(project: "demo"))
        let read = { (_: DocumentPath) throws(DocumentError) -> Document? in
            if isUnavailable { throw DocumentError(.unavailable, "it is read on another thread") }
            return nil
        }
        let document = try TestRules.document("t/x", ["isPublic": .boolean(true)])
        let view = AccessView(time: TestRules.time, document: read, documentAfter: read)
        try policy.check(.get(document.path, document), in: view)
        let statements = try #require(rules.coverage?.statements)
        #expect(statements.map(\.refused) == [refused, 0])
        #expect(statements.map(\.allowed) == [0, 1])
    }
}
