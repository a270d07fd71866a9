import Foundation
import StrictJSON
import Testing

@testable import SecurityRules

/// The rules of apps, and what their clients do.
@Suite struct DatabaseAppRulesTests {
    private static let rules = Result { try DatabaseRules(DatabaseAppRules.text) }

    private func reads(_ path: String, as uid: String? = nil, query: DatabaseRulesQuery? = nil) throws -> Bool {
        try DatabaseSamples.reads(Self.rules.get(), path, as: uid, query: query).isAllowed
    }

    private func writes(
        _ path: String, _ json: String, as uid: String? = nil, in tree: DatabaseTree = DatabaseTree(.null)
    ) throws -> Bool {
        try DatabaseSamples.writes(Self.rules.get(), [(path, json)], as: uid, in: tree).isAllowed
    }

    @Test func whatIsOpenIsReported() throws {
        let warnings = try Self.rules.get().warnings.map(\.message)
        #expect(warnings.contains("Everybody may write /open and all that is below."))
        #expect(
            warnings.contains(
                "This takes nothing away: '.read' of /cascade (13:18) grants it to everybody, also here and below."))
        #expect(try DatabaseRules(DatabaseAppRules.staff).warnings == [])
    }

    @Test func indexesAreFound() throws {
        let rules = try Self.rules.get()
        #expect(rules.indexes(at: ["open", "dinosaurs"]) == [.child(["height"]), .child(["about", "order"])])
        #expect(rules.indexes(at: ["open", "scores"]) == [.value])
        #expect(rules.indexes(at: ["mine"]) == [.child(["owner"])])
        #expect(rules.indexes(at: ["open", "unknown"]) == [])
    }

    @Test func aChatIsForItsUsers() throws {
        for path in ["/users", "/rooms", "/chats/c1"] {
            #expect(try reads(path, as: "ada") && !reads(path))
            #expect(try writes(path, #"{"a": 1}"#, as: "ada") && !writes(path, #"{"a": 1}"#))
        }
    }

    @Test func aStaffRecordIsForItsPerson() throws {
        let rules = try DatabaseRules(DatabaseAppRules.staff)
        func reads(_ path: String, _ uid: String?) throws -> Bool {
            try DatabaseSamples.reads(rules, path, as: uid).isAllowed
        }
        #expect(try reads("/users/taro", "taro") && reads("/users/taro/key", "taro"))
        #expect(try !reads("/users/hanako", "taro") && !reads("/users", "taro") && !reads("/users/taro", nil))
        #expect(try !DatabaseSamples.writes(rules, [("/users/taro/key", "1")], as: "taro").isAllowed)
    }

    @Test func aPostIsWrittenToBothPlaces() throws {
        let rules = try Self.rules.get()
        let post = #"{"uid": "ada", "title": "T"}"#
        let both = [("/posts/k", post), ("/user-posts/ada/k", post)]
        #expect(try DatabaseSamples.writes(rules, both, as: "ada").isAllowed)
        #expect(try DatabaseSamples.writes(rules, both, as: "bob").deniedPath == "/user-posts/ada/k")
        #expect(try DatabaseSamples.writes(rules, both).deniedPath == "/posts/k")
        #expect(try reads("/posts") && reads("/user-posts/bob"))
    }

    @Test func eachFeatureHasItsRule() throws {
        #expect(try reads("/open") && !reads("/private") && !reads("/"))
        #expect(
            try reads("/private/ada", as: "ada") && !reads("/private/ada", as: "bob") && !reads("/private", as: "ada"))
        #expect(
            try reads("/cascade/secret") && writes("/cascade/secret", "1", as: "ada") && !writes("/cascade/secret", "1")
        )
        #expect(try !writes("/cascade", #"{"secret": 1}"#, as: "ada"))
        #expect(try writes("/append/x", "1") && !writes("/append/x", "null"))
        #expect(try !writes("/append/x", "2", in: DatabaseTree(["append": ["x": 1]])))
        #expect(
            try writes("/stamped/a", "\(DatabaseSamples.now)") && !writes("/stamped/a", "\(DatabaseSamples.now - 5)"))
        #expect(try !reads("/fails", as: "ada") && reads("/shortens", as: "ada"))
        #expect(try reads("/strings/apple") && !reads("/strings/apply"))
    }

    @Test(arguments: [
        (#"{"color": "Red", "size": 9}"#, true), (#"{"color": "red"}"#, false),
        (#"{"color": "red", "size": 100}"#, false),
        (#"{"color": "reddish", "size": 1}"#, false), (#"{"color": "red", "size": 1, "x": 1}"#, false),
        (#"{"color": "red", "size": "1"}"#, false), ("null", true), ("7", false),
    ])
    func widgetsAreValidated(json: String, isAllowed: Bool) throws {
        #expect(try writes("/widgets/w", json) == isAllowed)
    }

    @Test func queriesDecide() throws {
        let byKey = DatabaseRulesQuery(limitToFirst: 10)
        #expect(try reads("/paged", query: byKey) && !reads("/paged"))
        #expect(try !reads("/paged", query: DatabaseRulesQuery(limitToFirst: 11)))
        #expect(try !reads("/paged", query: DatabaseRulesQuery(order: .value, limitToFirst: 1)))
        func owned(_ uid: String) -> DatabaseRulesQuery {
            DatabaseRulesQuery(order: .child("owner"), start: (.string(uid), true), end: (.string(uid), true))
        }
        #expect(try reads("/mine", as: "ada", query: owned("ada")) && !reads("/mine", as: "ada", query: owned("bob")))
        #expect(try !reads("/mine", as: "ada"))
    }

    @Test func claimsDecide() throws {
        let rules = try Self.rules.get()
        func isAllowed(_ token: String) throws -> Bool {
            let auth: JSONValue = ["uid": "ada", "provider": "password", "token": try DatabaseSamples.json(token)]
            return try rules.decide(.read(["mailbox"], auth: auth, now: 0), before: DatabaseTree(.null)).isAllowed
        }
        #expect(try isAllowed(#"{"email": "taro@example.com", "firebase": {"sign_in_provider": "password"}}"#))
        #expect(try !isAllowed(#"{"email": "taro@example.com", "firebase": {"sign_in_provider": "anonymous"}}"#))
        #expect(try !isAllowed(#"{}"#))
    }

    /// Prints how many decisions a second one core makes; build for release to see more than a debugger's pace.
    @Test func decisionsAreMeasured() throws {
        let rules = try Self.rules.get()
        let user = DatabaseSamples.user("ada")
        let empty = DatabaseTree(.null)
        let post: JSONValue = ["uid": "ada", "title": "T"]
        let posts = empty.setting([(["posts", "k"], post), (["user-posts", "ada", "k"], post)])
        let requests: [(String, DatabaseRulesRequest, DatabaseTree)] = [
            ("a chat's listen", .read(["chats"], auth: user, now: 0), empty),
            ("a staff record", .read(["private", "ada"], auth: user, now: 0), empty),
            (
                "a post in two places", .write([["posts", "k"], ["user-posts", "ada", "k"]], auth: user, now: 0), posts
            ),
        ]
        for (what, request, after) in requests {
            let start = ContinuousClock.now
            let count = 2000
            for _ in 0..<count { #expect(try rules.decide(request, before: empty, after: after).isAllowed) }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            FileHandle.standardError.write(Data("\(what): \(Int(Double(count) / seconds)) decisions/s\n".utf8))
        }
    }
}
