/// Rules with requests that they decide, in the format of Firestore's REST API. Each row follows from the public reference;
/// CI asks the official emulator as well.
public struct RulesExchange: Sendable {
    public enum Request: Sendable {
        case get(String)
        case list(String)
        /// Sets all fields.
        case set(String, fields: String)
        /// Sets some fields of a document.
        case update(String, fields: String, mask: [String])
        case delete(String)
        /// Writes in REST's format, where `NAME(path)` stands for a document's whole name.
        case commit([String])
    }

    public struct Step: Sendable {
        public let request: Request
        public let isAllowed: Bool
        /// Whether the user "ada" sends it; else it is unauthenticated.
        public let isSignedIn: Bool

        init(_ request: Request, _ isAllowed: Bool, isSignedIn: Bool = true) {
            self.request = request
            self.isAllowed = isAllowed
            self.isSignedIn = isSignedIn
        }
    }

    public let name: String
    /// Nil leaves the line out.
    public let version: Int?
    public let blocks: String
    /// The fields of the documents that exist before.
    public let documents: [String: String]
    public let steps: [Step]

    public var text: String {
        (version.map { "rules_version = '\($0)';\n" } ?? "")
            + "service cloud.firestore { match /databases/{database}/documents {\n\(blocks)\n} }"
    }

    init(
        _ name: String, version: Int? = 2, _ blocks: String, documents: [String: String] = [:], _ steps: [Step]
    ) {
        self.name = name
        self.version = version
        self.blocks = blocks
        self.documents = documents
        self.steps = steps
    }
}

public enum ExchangeTable {
    private static func n(_ number: Int) -> String { #""n":{"integerValue":"\#(number)"}"# }

    private static func write(_ path: String, _ fields: String, _ more: String = "") -> String {
        #"{"update":{"name":"NAME(\#(path))","fields":{\#(fields)}}\#(more)}"#
    }

    private static func exists(_ count: Int, from first: Int = 0, _ function: String = "exists") -> String {
        (first..<first + count).map { "!\(function)(/databases/$(database)/documents/other/d\($0))" }
            .joined(separator: " && ")
    }

    public static let rows: [RulesExchange] = [
        // MARK: Paths of both versions
        RulesExchange(
            "recursive wildcards of version 2", "match /a/{x}/{y=**} { allow get; } match /{p=**}/b/{y} { allow get; }",
            [
                .init(.get("a/1"), true), .init(.get("a/1/b/2"), true), .init(.get("a/1/b/2/c/3"), true),
                .init(.get("b/1"), true), .init(.get("c/1/b/1"), true), .init(.get("c/1"), false),
                .init(.get("b/1/c/1"), false),
            ]),
        RulesExchange(
            "recursive wildcards of version 1", version: 1,
            "match /a/{x}/{y=**} { allow get; } match /b/{x=**} { allow get; }",
            [
                .init(.get("a/1"), false), .init(.get("a/1/b/2"), true), .init(.get("a/1/b/2/c/3"), true),
                .init(.get("b/1"), true), .init(.get("b/1/c/2"), true), .init(.get("c/1"), false),
            ]),
        RulesExchange(
            "matches within a recursive wildcard of version 1", version: 1,
            """
            match /{x=**} { allow get: if x == path('c/1'); match /{y} { allow get; } match /b/{y} { allow get; } \
            match /{y=**} { allow get; } }
            """,
            [
                .init(.get("c/1"), true), .init(.get("b/1"), false), .init(.get("a/1/b/2"), false),
                .init(.get("a/1/b/2/c/3"), false),
            ]),
        RulesExchange(
            "matches within a recursive wildcard of version 2",
            "match /{x=**} { match /{y} { allow get: if y == '1'; } match /b/{y} { allow get: if y == '2'; } }",
            [
                .init(.get("c/1"), true), .init(.get("c/2"), false), .init(.get("b/2"), true),
                .init(.get("a/1/b/2"), true), .init(.get("a/1/b/3"), false),
            ]),
        RulesExchange(
            "matches within a path that goes on after its recursive wildcard",
            "match /{p=**}/a/{x} { allow get: if x == '1'; match /c/{d} { allow read; } match /{c}/{d} { allow get; } }",
            [
                .init(.get("a/1"), true), .init(.get("x/y/a/1"), true), .init(.get("a/1/c/1"), false),
                .init(.get("a/1/a/2"), false), .init(.list("a/1/c"), false),
            ]),
        RulesExchange(
            "no version is version 1", version: nil, "match /a/{x}/{y=**} { allow get; }",
            [.init(.get("a/1"), false), .init(.get("a/1/b/2"), true)]),
        RulesExchange(
            "what a recursive wildcard captures", "match /a/{x=**} { allow get: if x == path('1') || x[1] == 'b'; }",
            [
                .init(.get("a/1"), true), .init(.get("a/2"), false), .init(.get("a/2/b/3"), true),
                .init(.get("a/2/c/3"), false),
            ]),
        RulesExchange(
            "nested matches", "match /a/{x} { allow get: if x == '1'; match /b/{y} { allow get: if x + y == '12'; } }",
            [
                .init(.get("a/1"), true), .init(.get("a/2"), false), .init(.get("a/1/b/2"), true),
                .init(.get("a/1/b/1"), false), .init(.get("a/2/b/2"), false),
            ]),
        RulesExchange(
            "any allow that holds",
            "match /a/{x} { allow get: if x.y; allow get: if x == '1'; } match /{z}/1 { allow list; }",
            [.init(.get("a/1"), true), .init(.get("a/2"), false), .init(.list("a"), false)]),

        // MARK: Methods
        RulesExchange(
            "each method by itself",
            """
            match /g/{x} { allow get; } match /l/{x} { allow list; } match /c/{x} { allow create; }
            match /u/{x} { allow update; } match /d/{x} { allow delete; }
            match /r/{x} { allow read; } match /w/{x} { allow write; }
            """,
            documents: ["g/1": n(1), "l/1": n(1), "c/1": n(1), "u/1": n(1), "d/1": n(1), "r/1": n(1), "w/1": n(1)],
            [
                .init(.get("g/1"), true), .init(.list("g"), false), .init(.set("g/2", fields: n(1)), false),
                .init(.get("l/1"), false), .init(.list("l"), true),
                .init(.set("c/1", fields: n(2)), false), .init(.set("c/2", fields: n(2)), true),
                .init(.delete("c/1"), false),
                .init(.set("u/1", fields: n(2)), true), .init(.set("u/2", fields: n(2)), false),
                .init(.update("u/1", fields: n(3), mask: ["n"]), true),
                .init(.update("u/2", fields: n(3), mask: ["n"]), false),
                .init(.delete("d/1"), true), .init(.delete("d/2"), true), .init(.set("d/1", fields: n(1)), false),
                .init(.get("r/1"), true), .init(.list("r"), true), .init(.delete("r/1"), false),
                .init(.get("w/1"), false), .init(.set("w/1", fields: n(2)), true),
                .init(.set("w/2", fields: n(2)), true),
                .init(.delete("w/1"), true),
            ]),
        RulesExchange(
            "users", "match /a/{x} { allow get: if request.auth.uid == x; allow create: if request.auth == null; }",
            [
                .init(.get("a/ada"), true), .init(.get("a/bob"), false), .init(.get("a/ada"), false, isSignedIn: false),
                .init(.set("a/1", fields: n(1)), false), .init(.set("a/1", fields: n(1)), true, isSignedIn: false),
            ]),

        // MARK: What is written
        RulesExchange(
            "a write's document before and after",
            """
            match /a/{x} {
              allow create: if resource == null && request.resource.data.n == 1 && request.resource.id == x;
              allow update: if request.resource.data.n == resource.data.n + 1
                && request.resource.data.keys().hasOnly(['n', 'text']);
              allow delete: if request.resource == null && resource.data.n > 1;
            }
            """, documents: ["a/old": n(1) + #","text":{"stringValue":"x"}"#],
            [
                .init(.set("a/1", fields: n(2)), false), .init(.set("a/1", fields: n(1)), true),
                .init(.set("a/1", fields: n(1)), false), .init(.delete("a/1"), false),
                .init(.set("a/1", fields: n(2)), true), .init(.delete("a/1"), true), .init(.delete("a/1"), false),
                .init(.update("a/old", fields: n(2), mask: ["n"]), true),
                .init(.update("a/old", fields: #""other":{"nullValue":null}"#, mask: ["other"]), false),
                .init(.update("a/old", fields: n(3), mask: ["n", "text"]), true),
            ]),
        RulesExchange(
            "fields that change",
            "match /a/{x} { allow update: if request.resource.data.diff(resource.data).affectedKeys().hasOnly(['n']); }",
            documents: ["a/1": n(1) + #","m":{"integerValue":"1"}"#],
            [
                .init(.update("a/1", fields: n(2), mask: ["n"]), true),
                .init(.update("a/1", fields: #""m":{"integerValue":"2"}"#, mask: ["m"]), false),
                .init(.update("a/1", fields: #""m":{"integerValue":"1"}"#, mask: ["m"]), true),
                .init(.set("a/1", fields: n(5)), false),
                .init(.update("a/1", fields: "", mask: ["n"]), true),
            ]),
        RulesExchange(
            "transforms",
            """
            match /a/{x} { allow create: if request.resource.data.at == request.time && request.resource.data.at is timestamp;
              allow update: if request.resource.data.n == resource.data.n + 2; }
            """, documents: ["a/old": n(1)],
            [
                .init(
                    .commit([
                        write(
                            "a/1", n(1),
                            #","updateTransforms":[{"fieldPath":"at","setToServerValue":"REQUEST_TIME"}]"#)
                    ]), true),
                .init(.commit([write("a/2", n(1) + #","at":{"timestampValue":"2026-01-01T00:00:00Z"}"#)]), false),
                .init(
                    .commit([
                        write(
                            "a/old", "",
                            #","updateMask":{"fieldPaths":[]},"updateTransforms":[{"fieldPath":"n","increment":{"integerValue":"2"}}]"#
                        )
                    ]), true),
                .init(
                    .commit([
                        write(
                            "a/old", "",
                            #","updateMask":{"fieldPaths":[]},"updateTransforms":[{"fieldPath":"n","increment":{"integerValue":"3"}}]"#
                        )
                    ]), false),
            ]),
        RulesExchange(
            "a refusal comes before a failed precondition", "match /a/{x} { allow write: if x == '1'; }",
            [
                .init(.commit([write("a/2", n(1), #","currentDocument":{"exists":true}"#)]), false),
                .init(.commit([write("a/2", n(1), #","currentDocument":{"exists":false}"#)]), false),
            ]),
        RulesExchange(
            "a precondition says whether a write creates or updates",
            """
            match /a/{x} { allow create; } match /b/{x} { allow update; }
            match /c/{x} { allow create: if resource != null; allow update: if resource == null; }
            """, documents: ["a/old": n(1), "b/old": n(1), "c/old": n(1)],
            [
                .init(.commit([write("a/old", n(2), #","currentDocument":{"exists":false}"#)]), true),
                .init(.commit([write("a/new", n(2), #","currentDocument":{"exists":true}"#)]), false),
                .init(.commit([write("b/old", n(2), #","currentDocument":{"exists":false}"#)]), false),
                .init(.commit([write("b/new", n(2), #","currentDocument":{"exists":true}"#)]), true),
                .init(
                    .commit([write("b/new", n(2), #","currentDocument":{"updateTime":"2020-01-01T00:00:00Z"}"#)]),
                    true),
                .init(.commit([write("c/old", n(2), #","currentDocument":{"exists":false}"#)]), true),
                .init(.commit([write("c/new", n(2), #","currentDocument":{"exists":true}"#)]), true),
                .init(.commit([write("c/new", n(2))]), false), .init(.commit([write("c/old", n(2))]), false),
            ]),

        // MARK: Batches
        RulesExchange(
            "a batch is allowed as a whole", "match /a/{x} { allow write: if x != 'no'; allow get; }",
            [
                .init(.commit([write("a/1", n(1)), write("a/2", n(1))]), true),
                .init(.commit([write("a/3", n(1)), write("a/no", n(1))]), false),
            ]),
        RulesExchange(
            "writes of one document in a batch are decided together",
            """
            match /a/{x} { allow create: if request.resource.data.n == 2; }
            match /b/{x} { allow update: if request.resource.data.n == resource.data.n + 1; }
            match /c/{x} { allow create, delete; } match /d/{x} { allow update; } match /e/{x} { allow delete; }
            """, documents: ["b/old": n(1), "c/old": n(1), "d/old": n(1), "e/old": n(1)],
            [
                .init(
                    .commit([write("a/1", n(1)), write("a/1", n(2), #","currentDocument":{"exists":true}"#)]), true),
                .init(.commit([write("a/2", n(2)), write("a/2", n(3))]), false),
                .init(.commit([write("b/old", n(2)), write("b/old", n(3))]), false),
                .init(.commit([write("b/old", n(7)), write("b/old", n(2))]), true),
                .init(.commit([#"{"delete":"NAME(c/old)"}"#, write("c/old", n(2))]), false),
                .init(.commit([#"{"delete":"NAME(d/old)"}"#, write("d/old", n(2))]), true),
                .init(.commit([write("e/old", n(2)), #"{"delete":"NAME(e/old)"}"#]), true),
                .init(.commit([write("e/new", n(2)), #"{"delete":"NAME(e/new)"}"#]), true),
            ]),
        RulesExchange(
            "getAfter sees the whole batch",
            """
            match /a/{x} { allow write: if getAfter(/databases/$(database)/documents/b/$(x)).data.n
              == request.resource.data.n && !exists(/databases/$(database)/documents/b/$(x)); }
            match /b/{x} { allow write: if existsAfter(/databases/$(database)/documents/a/$(x)); }
            """, documents: ["b/old": n(1)],
            [
                .init(.commit([write("a/1", n(1)), write("b/1", n(1))]), true),
                .init(.commit([write("b/2", n(1)), write("a/2", n(1))]), true),
                .init(.commit([write("a/3", n(1)), write("b/3", n(2))]), false),
                .init(.commit([write("a/4", n(1))]), false), .init(.commit([write("b/4", n(1))]), false),
                .init(.commit([write("a/old", n(1)), write("b/old", n(1))]), false),
                .init(.commit([write("a/5", n(1)), write("b/5", n(1)), #"{"delete":"NAME(b/5)"}"#]), false),
            ]),
        RulesExchange(
            "get sees what was before",
            "match /a/{x} { allow write: if get(/databases/$(database)/documents/b/1).data.n == 1; } match /b/{x} { allow write; }",
            documents: ["b/1": n(1)],
            [
                .init(.commit([write("b/1", n(2)), write("a/1", n(1))]), true),
                .init(.set("a/1", fields: n(1)), false),
            ]),

        // MARK: How much may be read
        RulesExchange(
            "ten documents for one request",
            """
            match /ten/{x} { allow get, write: if \(exists(10)); }
            match /eleven/{x} { allow get, write: if \(exists(11)); }
            match /same/{x} { allow get: if \(Array(repeating: exists(1), count: 15).joined(separator: " && ")); }
            match /both/{x} { allow write: if \(exists(5)) && \(exists(6, from: 5, "existsAfter")); }
            """,
            [
                .init(.get("ten/1"), true), .init(.get("eleven/1"), false), .init(.get("same/1"), true),
                .init(.set("ten/1", fields: n(1)), true), .init(.set("eleven/1", fields: n(1)), false),
                .init(.set("both/1", fields: n(1)), false),
            ]),
        RulesExchange(
            "twenty documents for a batch",
            """
            match /a/{x} { allow write: if \(exists(10)); } match /b/{x} { allow write: if \(exists(10, from: 10)); }
            match /c/{x} { allow write: if \(exists(1, from: 20)); }
            """,
            [
                .init(.commit([write("a/1", n(1)), write("b/1", n(1))]), true),
                .init(.commit([write("a/1", n(1)), write("b/1", n(1)), write("c/1", n(1))]), false),
                .init(.commit((0..<5).map { write("a/\($0)", n(1)) }), true),
            ]),
    ]

    /// Files that are accepted or not.
    public static let files: [(name: String, text: String, isAccepted: Bool)] = {
        func file(_ blocks: String) -> String { RulesExchange("", blocks, []).text }
        func condition(_ text: String) -> String { file("match /t/{id} { allow get: if \(text); }") }
        func nested(_ depth: Int) -> String {
            file(
                (0..<depth).map { "match /a/{b\($0)} { " }.joined() + "allow get; "
                    + String(repeating: "}", count: depth))
        }
        func calls(_ depth: Int) -> String {
            file(
                (0..<depth).map { "function f\($0)() { return f\($0 + 1)(); } " }.joined()
                    + "function f\(depth)() { return true; } match /t/{id} { allow get: if f0(); }")
        }
        func parameters(_ count: Int) -> String {
            let names = (0..<count).map { "a\($0)" }.joined(separator: ", ")
            let values = (0..<count).map { "\($0)" }.joined(separator: ", ")
            return file("function f(\(names)) { return true; } match /t/{id} { allow get: if f(\(values)); }")
        }
        func segments(_ count: Int) -> String {
            file("match /\((0..<count).map { "s\($0)" }.joined(separator: "/")) { allow get; }")
        }
        func captures(_ count: Int) -> String {
            file("match /\((0..<count).map { "s/{v\($0)}" }.joined(separator: "/")) { allow get; }")
        }
        func parentheses(_ count: Int) -> String {
            condition(String(repeating: "(", count: count) + "true" + String(repeating: ")", count: count))
        }
        return [
            ("10 nested blocks", nested(10), true), ("11 nested blocks", nested(11), false),
            ("20 nested calls", calls(20), true), ("21 nested calls", calls(21), false),
            ("7 parameters", parameters(7), true), ("8 parameters", parameters(8), false),
            ("97 segments below the root", segments(97), true), ("98 segments below the root", segments(98), false),
            ("19 captures below the root", captures(19), true), ("20 captures below the root", captures(20), false),
            ("98 parentheses", parentheses(98), true), ("99 parentheses", parentheses(99), false),
            (
                "a function that calls itself",
                file("function f() { return f(); } match /t/{id} { allow get: if f(); }"), false
            ),
            (
                "functions that call each other",
                file("function f() { return g(); } function g() { return f(); } match /t/{id} { allow get: if f(); }"),
                false
            ),
            ("a name captured twice", file("match /t/{id}/u/{id} { allow get; }"), false),
            (
                "a let after the return",
                file("function f() { return a; let a = 1; } match /t/{id} { allow get: if f() == 1; }"), false
            ),
            ("no condition after if", condition(""), false),
            ("an unknown method", file("match /t/{id} { allow peek; }"), true),
            ("an unknown type", condition("1 is integer"), false), ("a missing bracket", condition("(true"), false),
            (
                "a recursive wildcard in the middle, version 1",
                "service cloud.firestore { match /databases/{database}/documents { match /{a=**}/b { allow get; } } }",
                false
            ),
            ("two recursive wildcards", file("match /{a=**}/b/{c=**} { allow get; }"), false),
            (
                "a recursive wildcard within another's block",
                file("match /{a=**} { match /b/{c=**} { allow get; } }"), false
            ),
            ("an unknown version", "rules_version = '3'; service cloud.firestore { }", false),
            ("an unknown service", "rules_version = '2'; service cloud.storage { }", false),
            ("no service", "rules_version = '2';", false), ("nothing", "", false),
            ("an allow outside of a match", "rules_version = '2'; service cloud.firestore { allow get; }", false),
        ]
    }()
}
