import DocumentModel
import Foundation
import RealtimeModel
import SecurityRules
import StrictJSON

/// Measures decisions of the rules of three apps, in this process, on a tree in memory.
struct RealtimeRulesBenchmark: Benchmark {
    static let name = "database"
    private static let now: Int64 = 1_795_000_000_000
    private static let perSecond = 200_000.0

    var pace: Pace

    /// A request of an app.
    private struct Case {
        var what: String
        var request: DatabaseRulesRequest
        /// What the request writes, at paths of the tree.
        var written: [String: String] = [:]
    }

    func run(in directory: URL) async throws -> Section {
        var section = Section(
            "Realtime Database: decisions of the rules of three apps, one thread",
            notes: ["the tree is in memory, with \(Self.people) people; all requests are allowed"])
        let tree = try Self.tree()
        var all: [Double] = []
        for app in Self.apps {
            let rules = try DatabaseRules(app.rules)
            var times: [Double] = []
            for test in app.cases {
                let each = try seconds(of: test, rules, tree)
                times.append(each)
                section.add(Row("\(app.name): \(test.what): CPU", .microseconds(each)))
            }
            section.add(
                Row(
                    "\(app.name), these by turns: CPU", .microseconds(times.reduce(0, +) / Double(times.count)),
                    aim: .atMost(.microseconds(1 / Self.perSecond))))
            all += times
        }
        section.add(Row("all apps: decisions", .perSecond(Double(all.count) / all.reduce(0, +))))
        return section
    }

    /// The CPU seconds of one decision.
    private func seconds(of test: Case, _ rules: DatabaseRules, _ tree: RealtimeNode?) throws -> Double {
        var changed = tree
        for (path, json) in test.written {
            let target = try RealtimeTarget(path)
            let value = try RealtimeWriteValue(parsing: Array(json.utf8), at: target)
            changed.set(value.resolved(now: Self.now, existing: nil), at: target.path)
        }
        let (before, after) = (RulesTree(tree), RulesTree(changed))
        let count = pace.count(300_000, quick: 100_000)
        let start = OwnProcess.cpuSeconds()
        for _ in 0..<count {
            let decision = try rules.decide(test.request, before: before, after: after)
            guard decision.isAllowed else { throw LoadError("\(test.what): \(decision.explanation)") }
        }
        return (OwnProcess.cpuSeconds() - start) / Double(count)
    }

    // MARK: The apps

    private struct App {
        var name: String
        var rules: String
        var cases: [Case]
    }

    private static let chat = #"""
        {"rules": {
          "users": {".indexOn": "name", ".read": "auth != null",
            "$uid": {".write": "$uid === auth.uid", ".validate": "newData.hasChildren(['name'])",
              "name": {".validate": "newData.isString() && newData.val().length > 0 && newData.val().length < 50"}}},
          "members": {"$room": {".read": "data.child(auth.uid).exists()",
            ".write": "!data.exists() || data.child(auth.uid).val() === 'owner'"}},
          "messages": {".indexOn": "at",
            "$room": {
              ".read": "root.child('members').child($room).child(auth.uid).exists()",
              "$message": {
                ".write": "root.child('members/' + $room + '/' + auth.uid).exists() && (!data.exists() || data.child('by').val() === auth.uid)",
                ".validate": "newData.hasChildren(['by', 'text', 'at'])",
                "by": {".validate": "newData.val() === auth.uid"},
                "text": {".validate": "newData.isString() && newData.val().length <= 1000"},
                "at": {".validate": "newData.val() <= now"},
                "$other": {".validate": false}}}}}}
        """#

    private static let staff = #"""
        {"rules": {
          ".read": "root.child('admins').child(auth.uid).val() === true",
          ".write": "root.child('admins').child(auth.uid).val() === true",
          "employees": {".indexOn": ["department", "email"],
            "$uid": {".read": "auth != null && ($uid === auth.uid || root.child('employees').child($uid).child('manager').val() === auth.uid)",
              "phone": {".write": "$uid === auth.uid", ".validate": "newData.val().matches(/^\\+?[0-9 ]{6,20}$/)"}}}}}
        """#

    private static let posts = #"""
        {"rules": {
          "posts": {".read": true, ".indexOn": "starCount",
            "$post": {
              ".write": "auth != null && (!data.exists() || data.child('uid').val() === auth.uid)",
              ".validate": "newData.hasChildren(['uid', 'title', 'body'])",
              "uid": {".validate": "newData.val() === auth.uid"},
              "title": {".validate": "newData.isString() && newData.val().length > 0 && newData.val().length <= 200"},
              "stars": {"$uid": {".write": "$uid === auth.uid", ".validate": "newData.isBoolean()"}},
              "starCount": {".write": "auth != null", ".validate": "newData.isNumber() && newData.val() >= 0"}}},
          "user-posts": {"$uid": {".read": true, ".write": "$uid === auth.uid"}}}}
        """#

    private static let people = 1000

    private static func tree() throws -> RealtimeNode? {
        let users = (0..<people).map { #""u\#($0)":{"name":"Person \#($0)"}"# }.joined(separator: ",")
        let employees = (0..<people).map {
            #""u\#($0)":{"name":"Person \#($0)","department":"d\#($0 % 9)","manager":"u\#($0 / 10)","phone":"1234567"}"#
        }.joined(separator: ",")
        let json = """
            {"users":{\(users)},"employees":{\(employees)},"admins":{"u0":true},
            "members":{"r1":{"u7":"owner","u71":"member"}},
            "messages":{"r1":{"m1":{"by":"u71","text":"Hello","at":1794000000000}}},
            "posts":{"p1":{"uid":"u7","title":"Kyoto","body":"…","starCount":1,"stars":{"u71":true}}}}
            """
        let value = try RealtimeWriteValue(parsing: Array(json.utf8), at: RealtimeTarget(.root))
        return value.resolved(now: now, existing: nil)
    }

    private static var apps: [App] {
        let auth = DatabaseRulesRequest.auth(ClientIdentity(uid: "u71", claims: ["email": .string("u71@example.com")]))
        let manager = DatabaseRulesRequest.auth(ClientIdentity(uid: "u7", claims: [:]))
        func read(_ path: String, _ query: DatabaseRulesQuery? = nil, as auth: JSONValue) -> DatabaseRulesRequest {
            .read(path.split(separator: "/").map(String.init), query, auth: auth, now: now)
        }
        func write(_ paths: [String], as auth: JSONValue) -> DatabaseRulesRequest {
            .write(paths.map { $0.split(separator: "/").map(String.init) }, auth: auth, now: now)
        }
        let message = #"{"by":"u71","text":"The train leaves at 10:42 from platform 3.","at":1795000000000}"#
        let post = #"{"uid":"u71","title":"Nara","body":"Deer.","starCount":0}"#
        return [
            App(
                name: "chat", rules: chat,
                cases: [
                    Case(what: "read a room's messages", request: read("messages/r1", as: auth)),
                    Case(
                        what: "find users by name",
                        request: read(
                            "users", DatabaseRulesQuery(order: .child("name"), equalTo: .string("Person 3")), as: auth)),
                    Case(
                        what: "send a message", request: write(["messages/r1/m2"], as: auth),
                        written: ["messages/r1/m2": message]),
                ]),
            App(
                name: "staff", rules: staff,
                cases: [
                    Case(what: "read one's record", request: read("employees/u71", as: auth)),
                    Case(what: "a manager reads a record", request: read("employees/u71", as: manager)),
                    Case(
                        what: "change a phone number", request: write(["employees/u71/phone"], as: auth),
                        written: ["employees/u71/phone": #""+81 75 123 4567""#]),
                ]),
            App(
                name: "posts", rules: posts,
                cases: [
                    Case(what: "read all", request: read("posts", as: .null)),
                    Case(
                        what: "add a post in two places",
                        request: write(["posts/p2", "user-posts/u71/p2"], as: auth),
                        written: ["posts/p2": post, "user-posts/u71/p2": post]),
                    Case(
                        what: "star a post", request: write(["posts/p1/stars/u71", "posts/p1/starCount"], as: auth),
                        written: ["posts/p1/stars/u71": "true", "posts/p1/starCount": "2"]),
                ]),
        ]
    }
}

/// A tree in memory as rules read it. Looking something up costs next to nothing.
private final class RulesTree: DatabaseRulesData {
    private let value: DatabaseRulesValue
    private let children: [String: RulesTree]

    init(_ node: RealtimeNode?) {
        switch node?.leaf {
        case .boolean(let flag)?: value = .boolean(flag)
        case .number(let number)?: value = number.integer.map { .integer($0) } ?? .double(number.double)
        case .string(let text)?: value = .string(text)
        case nil: value = node == nil ? .null : .object
        }
        children = Dictionary(
            uniqueKeysWithValues: (node?.children ?? RealtimeChildren()).map { ($0.key.string, RulesTree($0.node)) })
    }

    private func node(at path: ArraySlice<String>) -> RulesTree? {
        var node = self
        for name in path {
            guard let child = node.children[name] else { return nil }
            node = child
        }
        return node
    }

    func value(at path: ArraySlice<String>) -> DatabaseRulesValue { node(at: path)?.value ?? .null }

    func priority(at path: ArraySlice<String>) -> DatabaseRulesValue { .null }

    func childNames(at path: ArraySlice<String>, limit: Int) -> [String] {
        node(at: path).map { Array($0.children.keys.prefix(limit)) } ?? []
    }
}
