import DocumentModel
import StrictJSON
import Testing

@testable import SecurityRules

/// Cascades, writes, validations, limits.
@Suite struct DatabaseDecisionTests {
    private static let cascade = #"""
        {"rules": {
          "a": {".read": "auth != null", ".write": "auth.uid == 'ada'",
            "b": {".read": false, ".write": false},
            "$x": {".read": "$x == 'open'", ".write": "$x == 'open'"}}}}
        """#

    @Test(arguments: [
        ("/", "ada", false), ("/a", "ada", true), ("/a/b", "ada", true), ("/a/b/c/d", "ada", true),
        ("/a/b", nil, false),
        ("/a/open", nil, true), ("/a/open/deeper", nil, true), ("/a/other", nil, false), ("/other", "ada", false),
        ("/a", nil, false),
    ])
    func whatAParentGrantsNoChildTakesAway(path: String, uid: String?, isAllowed: Bool) throws {
        let rules = try DatabaseRules(Self.cascade)
        #expect(try DatabaseSamples.reads(rules, path, as: uid).isAllowed == isAllowed)
        #expect(try DatabaseSamples.writes(rules, [(path, "1")], as: uid).isAllowed == isAllowed)
        #expect(try DatabaseSamples.writes(rules, [(path, "null")], as: uid).isAllowed == isAllowed)
    }

    @Test func withoutRulesNothingIsAllowed() throws {
        let rules = try DatabaseRules(#"{"rules": {}}"#)
        let read = try DatabaseSamples.reads(rules, "/a", as: "ada")
        #expect(!read.isAllowed)
        #expect(read.explanation == "/a: no rule grants it")
        #expect(try !DatabaseSamples.writes(rules, [("/a", "1")], as: "ada").isAllowed)
    }

    @Test func aNameStandsForTheKeyOfThePath() throws {
        let rules = try DatabaseRules(
            #"{"rules": {"$a": {"x": {"$b": {".read": "$a + $b == 'onetwo'", "$c": {".read": "$c == $a"}}}}}}"#)
        #expect(try DatabaseSamples.reads(rules, "/one/x/two").isAllowed)
        #expect(try !DatabaseSamples.reads(rules, "/two/x/one").isAllowed)
        #expect(try DatabaseSamples.reads(rules, "/two/x/one/two").isAllowed)
        #expect(try !DatabaseSamples.reads(rules, "/one/y/two").isAllowed)
    }

    // MARK: Writes

    @Test(arguments: [
        ("/", false), ("/a", false), ("/a/b/c", false), ("/open", true), ("/open/x/y", true), ("/own", false),
        ("/own/ada", true), ("/own/ada/x", true), ("/never", false), ("/never/x", false), ("/never/maybe/x", true),
    ])
    func whatNoRuleCanAllowIsKnownBefore(path: String, isPossible: Bool) throws {
        let rules = try DatabaseRules(
            #"""
            {"rules": {".read": true, "a": {"b": {".validate": true}}, "open": {".write": true},
              "own": {"$uid": {".write": "$uid === auth.uid"}},
              "never": {".write": false, "x": {".write": "auth != null && false"}, "maybe": {".write": "newData.exists()"}}}}
            """#)
        let refusal = try rules.refusal(
            ofWriteAt: DatabaseSamples.path(path), auth: DatabaseSamples.user("ada"), now: DatabaseSamples.now,
            before: nil)
        #expect((refusal == nil) == isPossible)
        guard !isPossible else { return }
        #expect(try !DatabaseSamples.writes(rules, [(path, "1")], as: "ada").isAllowed)
    }

    /// Who writes, and what there is, may refuse a write before it is known what is written.
    @Test(arguments: [
        ("user", nil, true, true), ("user", "ada", false, false), ("valid", nil, true, true),
        ("valid", "ada", false, false), ("late", nil, false, false), ("member", "ada", false, false),
        ("member", "eve", false, true), ("member", nil, true, true), ("new", "ada", false, true),
        ("free", nil, false, false), ("wrong", "ada", true, true), ("any/of", nil, false, false),
        ("any/of", "eve", false, true), ("any/of", "ada", false, false), ("key", "ada", false, false),
        ("key", nil, true, true),
    ])
    func whatIsWrittenNeedNotBeKnownForARefusal(
        path: String, uid: String?, isRefusedByAuth: Bool, isRefusedByTree: Bool
    ) throws {
        let rules = try DatabaseRules(
            #"""
            {"rules": {
              "user": {".write": "auth != null"}, "valid": {".write": "auth != null && newData.exists()"},
              "late": {".write": "newData.exists() && auth != null"},
              "member": {".write": "auth != null && root.child('members').hasChild(auth.uid)"},
              "new": {".write": "!data.parent().child('new').exists()"}, "free": {".write": "!data.exists()"},
              "wrong": {".write": "auth.uid < 1 || true"},
              "any": {".write": "root.child('members/' + auth.uid).exists()", "of": {".write": "auth.uid != 'eve'"}},
              "key": {".write": "auth.uid == 'ada'", ".validate": false}}}
            """#)
        let tree = DatabaseTree(try DatabaseSamples.json(#"{"members": {"ada": true}, "new": 1}"#))
        func isRefused(_ before: DatabaseTree?) throws -> Bool {
            let refusal = try rules.refusal(
                ofWriteAt: DatabaseSamples.path(path), auth: DatabaseSamples.user(uid), now: DatabaseSamples.now,
                before: before)
            #expect(refusal?.isAllowed != true)
            return refusal != nil
        }
        #expect(try isRefused(nil) == isRefusedByAuth)
        #expect(try isRefused(tree) == isRefusedByTree)
        guard isRefusedByTree else { return }
        #expect(try !DatabaseSamples.writes(rules, [(path, "1")], as: uid, in: tree).isAllowed)
    }

    private static let widgets = #"""
        {"rules": {".write": true, ".validate": "newData.hasChild('widgets')", "widgets": {
          "$id": {".validate": "newData.hasChildren(['color', 'size'])",
            "color": {".validate": "newData.isString()"},
            "size": {".validate": "newData.isNumber() && newData.val() <= 99"},
            "parts": {"$part": {".validate": "$part.beginsWith('p') && newData.val() == $id"}},
            "$other": {".validate": false}}}}}
        """#
    private static let widget = #"{"color": "red", "size": 1}"#

    @Test(arguments: [
        ("/widgets/w", widget, nil), ("/widgets/w", #"{"color": "red"}"#, "/widgets/w"),
        ("/widgets/w", #"{"color": 1, "size": 1}"#, "/widgets/w/color"),
        ("/widgets/w", #"{"color": "red", "size": 100}"#, "/widgets/w/size"),
        ("/widgets/w", #"{"color": "red", "size": 1, "x": {"y": 1}}"#, "/widgets/w/x"),
        ("/widgets/w", #"{"color": "red", "size": 1, "parts": {"p1": "w", "p2": "w"}}"#, nil),
        ("/widgets/w", #"{"color": "red", "size": 1, "parts": {"p1": "w", "p2": "v"}}"#, "/widgets/w/parts/p2"),
        ("/widgets/w", #"{"color": "red", "size": 1, "parts": {"q": "w"}}"#, "/widgets/w/parts/q"),
        ("/widgets/old/size", "2", nil), ("/widgets/old/size", "\"2\"", "/widgets/old/size"),
        ("/widgets/new/size", "2", "/widgets/new/size"), ("/widgets/old/size", "null", nil),
        ("/widgets/old", "null", nil),
        ("/widgets/old/x/y", "1", "/widgets/old/x/y"), ("/widgets/old/color/deep", "1", "/widgets/old/color/deep"),
        ("/", "{\"widgets\": {\"v\": \(widget), \"w\": \(widget)}}", nil),
        ("/", "{\"widgets\": {\"v\": \(widget), \"w\": {}, \"u\": {\"size\": 1}}}", "/widgets/u"),
        ("/", "{\"other\": 1}", "/"), ("/", "null", nil), ("/widgets", "7", nil),
    ])
    func validationsHoldOnTheWayAndBelow(path: String, json: String, deniedPath: String?) throws {
        let tree = DatabaseTree(try DatabaseSamples.json("{\"widgets\": {\"old\": \(Self.widget)}}"))
        let decision = try DatabaseSamples.writes(DatabaseRules(Self.widgets), [(path, json)], in: tree)
        #expect(decision.deniedPath == deniedPath, "\(decision.explanation)")
        #expect(decision.isAllowed == (deniedPath == nil))
    }

    @Test func onlyWhatIsThereIsValidated() throws {
        let rules = try DatabaseRules(
            #"{"rules": {".write": true, "a": {"b": {".validate": false, "c": {".validate": "newData.val() == 1"}}}}}"#)
        #expect(try DatabaseSamples.writes(rules, [("/a", #"{"x": 1}"#)]).isAllowed)
        #expect(try DatabaseSamples.writes(rules, [("/a", #"{"b": 1}"#)]).deniedPath == "/a/b")
        let deeper = try DatabaseRules(
            #"{"rules": {".write": true, "a": {"b": {"c": {".validate": "newData.val() == 1"}}}}}"#)
        #expect(try DatabaseSamples.writes(deeper, [("/a", #"{"b": {"d": 2}}"#)]).isAllowed)
        #expect(try DatabaseSamples.writes(deeper, [("/a", #"{"b": {"c": 2}}"#)]).deniedPath == "/a/b/c")
    }

    /// What one rule has read isn't taken for what the next one reads.
    @Test func eachRuleReadsItsOwnPaths() throws {
        let rules = try DatabaseRules(
            #"""
            {"rules": {".write": "root.child('a').val() == 1", "x": {".validate": "root.child('b').val() == 2",
              "$k": {".validate": "root.child('c').val() == 3 && newData.val() == $k"}}}}
            """#)
        let tree = DatabaseTree(["a": 1, "b": 2, "c": 3])
        #expect(try DatabaseSamples.writes(rules, [("/x", #"{"p": "p", "q": "q"}"#)], in: tree).isAllowed)
        #expect(try DatabaseSamples.writes(rules, [("/x", #"{"p": "p", "q": "p"}"#)], in: tree).deniedPath == "/x/q")
        let parents = try DatabaseRules(
            #"{"rules": {".read": "data.child('a/b').val() == 1 && data.child('a/b').parent().exists() && !data.child('a/b').parent().isNumber()"}}"#
        )
        #expect(try DatabaseSamples.reads(parents, "/", in: DatabaseTree(["a": ["b": 1]])).isAllowed)
        let above = try DatabaseRules(
            #"{"rules": {".read": "root.child('a').val() == 2", "x": {".read": "root.child('b').val() == 2"}}}"#)
        #expect(try DatabaseSamples.reads(above, "/x", in: tree).isAllowed)
        let depths = try DatabaseRules(
            #"{"rules": {"$a": {"$b": {".read": "data.val() == 1 && data.parent().val() != 1"}}}}"#)
        #expect(try DatabaseSamples.reads(depths, "/a/b", in: DatabaseTree(["a": ["b": 1]])).isAllowed)
    }

    @Test func whatIsNotValidatedIsNotRead() throws {
        let rules = try DatabaseRules(
            #"{"rules": {".write": true, "a": {"$x": {"y": {".validate": "newData.isString()"}}}, "b": {".read": true}}}"#
        )
        let tree = DatabaseTree(.null)
        let after = tree.setting([(["b"], ["c": ["d": 1]]), (["a"], ["k": ["y": "s", "z": ["u": 1]]])])
        let request = DatabaseRulesRequest.write([["b"], ["a"]], auth: .null, now: 0)
        #expect(try rules.decide(request, before: tree, after: after).isAllowed)
        #expect(tree.readPaths == [])
        #expect(after.readPaths == ["/b", "/a", "/a", "/a/k/y"])
    }

    @Test func newDataHoldsTheWholeUpdate() throws {
        let rules = try DatabaseRules(
            #"""
            {"rules": {"likes": {"$post": {"$uid": {".write": "$uid === auth.uid",
              ".validate": "newData.parent().parent().parent().child('counts/' + $post).val() == root.child('counts/' + $post).val() + 1"}}},
             "counts": {"$post": {".write": "auth != null && newData.isNumber()"}}}}
            """#)
        let tree = DatabaseTree(["counts": ["p": 3]])
        func isAllowed(_ values: (path: String, json: String)...) throws -> Bool {
            try DatabaseSamples.writes(rules, values, as: "ada", in: tree).isAllowed
        }
        #expect(try isAllowed(("/likes/p/ada", "true"), ("/counts/p", "4")))
        #expect(try isAllowed(("/counts/p", "4"), ("/likes/p/ada", "true")))
        #expect(try !isAllowed(("/likes/p/ada", "true")))
        #expect(try !isAllowed(("/likes/p/ada", "true"), ("/counts/p", "5")))
        #expect(try !isAllowed(("/likes/p/bob", "true"), ("/counts/p", "4")))
        #expect(try isAllowed(("/likes/p/ada", "null")))
        #expect(try !isAllowed(("/counts/p", "null")))
    }

    /// Locations of an update share what they have in common, and are decided as each alone would be.
    @Test func locationsOfAnUpdateAreDecidedEach() throws {
        let rules = try DatabaseRules(
            #"""
            {"rules": {"a": {".validate": "newData.child('n').val() < 3", "$k": {".write": "$k != 'no'", "x": {".validate": "newData.isNumber()"},
              "$l": {".write": "$l == 'yes'", ".validate": "newData.val() != 'bad'"}}}}}
            """#)
        func denied(_ values: (path: String, json: String)...) throws -> String? {
            try DatabaseSamples.writes(rules, values + [("/a/n", "1")]).deniedPath
        }
        #expect(try denied(("/a/k/x", "1"), ("/a/k/y", "2")) == nil)
        #expect(try denied(("/a/k/x", "1"), ("/a/no/y", "2")) == "/a/no/y")
        #expect(try denied(("/a/no/yes", "1"), ("/a/no/y", "2")) == "/a/no/y")
        #expect(try denied(("/a/no/yes", "1"), ("/a/k/y", "2")) == nil)
        #expect(try denied(("/a/k/y", "2"), ("/a/k/x", "\"s\"")) == "/a/k/x")
        #expect(try denied(("/a/k/y", "null"), ("/a/k/z", "\"bad\"")) == "/a/k/z")
        #expect(try denied(("/a/k/y", "1"), ("/a/k/z", "null"), ("/a/k/u", "\"bad\"")) == "/a/k/u")
        let before = DatabaseTree(["a": ["n": 3]])
        #expect(try !DatabaseSamples.writes(rules, [("/a/k/x", "1"), ("/a/k/y", "2")], in: before).isAllowed)
        // A deleted location needs no validation, the one after it does.
        #expect(try DatabaseSamples.writes(rules, [("/a/k/y", "null")], in: before).isAllowed)
        #expect(try !DatabaseSamples.writes(rules, [("/a/k/y", "null"), ("/a/k/z", "1")], in: before).isAllowed)
    }

    @Test func keysThatLookAlikeAreNotInCommon() throws {
        let rules = try DatabaseRules("{\"rules\": {\"$k\": {\".write\": \"$k == '\u{E9}'\"}}}")
        let decision = try DatabaseSamples.writes(rules, [("/\u{E9}/a", "1"), ("/e\u{301}/b", "1")])
        #expect(!decision.isAllowed)
    }

    @Test func dataAndNewDataAreThoseOfTheRulesLocation() throws {
        let rules = try DatabaseRules(
            #"{"rules": {"a": {".write": "data.child('n').val() == 1 && newData.child('n').val() == 2 && root.child('a/n').val() == 1"}}}"#
        )
        let tree = DatabaseTree(["a": ["n": 1]])
        #expect(try DatabaseSamples.writes(rules, [("/a/n", "2")], in: tree).isAllowed)
        #expect(try !DatabaseSamples.writes(rules, [("/a/n", "3")], in: tree).isAllowed)
    }

    // MARK: Reads of the store

    @Test func aStoresFailureIsThrown() throws {
        let rules = try DatabaseRules(
            #"{"rules": {".read": "root.child('x').exists() || true", ".write": "newData.child('x').exists()"}}"#)
        let tree = DatabaseTree(.null, unreadable: "/x")
        #expect(throws: DatabaseTree.Unreadable.self) { try DatabaseSamples.reads(rules, "/", in: tree) }
        #expect(throws: DatabaseTree.Unreadable.self) {
            try rules.decide(.write([["a"]], auth: .null, now: 0), before: DatabaseTree(.null), after: tree)
        }
    }

    @Test func aNodeIsReadWhenItIsLookedAt() throws {
        let rules = try DatabaseRules(
            #"""
            {"rules": {".read": "auth == null || root.child('x').exists()",
              ".write": "newData.child('n').isNumber() && newData.child('n').val() > 1 && newData.parent().exists()"}}
            """#)
        let tree = DatabaseTree(["n": 2])
        #expect(try DatabaseSamples.reads(rules, "/a", in: tree).isAllowed)
        #expect(tree.readPaths == [])
        _ = try DatabaseSamples.reads(rules, "/a", as: "ada", in: tree)
        #expect(tree.readPaths == ["/x"])
    }

    @Test func aChildOfAnImpossiblePathHasNothing() throws {
        let rules = try DatabaseRules(
            #"{"rules": {".read": "!root.child('a.b').child('c').exists() && !root.child('a.b/c').child('d').parent().exists()"}}"#
        )
        #expect(try DatabaseSamples.reads(rules, "/", in: DatabaseTree(["a": 1])).isAllowed)
    }

    /// Keys that no node can have, and paths that are too deep, aren't asked for: ``DatabaseTree`` would throw.
    @Test(arguments: ["a.b", "a/$b/c", "x[0]", "é#", "\u{7F}"])
    func impossiblePathsHaveNothing(path: String) throws {
        let rules = try DatabaseRules(
            #"{"rules": {"$k": {".read": "!root.hasChild(auth.uid) && !data.child(auth.uid + '/y').exists()"}}}"#)
        #expect(try DatabaseSamples.reads(rules, "/a", as: path, in: DatabaseTree(["a": 1])).isAllowed)
        let deep = String(repeating: "a/", count: 40)
        #expect(try DatabaseSamples.reads(rules, "/a", as: deep, in: DatabaseTree(["a": 1])).isAllowed)
    }

    // MARK: Limits

    @Test func aDecisionIsBounded() throws {
        let rules = try DatabaseRules(
            #"{"rules": {".write": true, "list": {"$k": {".validate": "newData.val() > 0"}}}}"#)
        let many = JSONValue.object(JSONObject((0..<1000).map { ("k\($0)", .integer(1)) }))
        let (before, after) = (DatabaseTree(.null), DatabaseTree(["list": many]))
        let request = DatabaseRulesRequest.write([["list"]], auth: .null, now: 0)
        let whole = try rules.decide(request, before: before, after: after)
        #expect(whole.isAllowed)
        // Each child is found, and read.
        #expect(whole.cost > 2 * 1000 * RulesLimits.databaseNodeCost)
        #expect(try rules.decide(request, before: before, after: after, maxCost: whole.cost).isAllowed)
        let bounded = try rules.decide(request, before: before, after: after, maxCost: whole.cost - 1)
        #expect(!bounded.isAllowed)
        #expect(bounded.explanation.hasSuffix("the decision would cost more than its limit"))
        #expect(bounded.cost <= whole.cost)
        #expect(try !rules.decide(request, before: before, after: after, maxCost: 0).isAllowed)
    }

    @Test func longTextsAreBounded() throws {
        let doubled = (0..<30).reduce("newData.val()") { text, _ in "(\(text)).replace('a', 'aa')" }
        let long = String(repeating: "a", count: 100_000)
        for rule in [doubled + " != 'a'", "!newData.val().matches(/(.*a){60}b/)"] {
            let rules = try DatabaseRules("{\"rules\": {\".write\": \"\(rule)\"}}")
            let decision = try DatabaseSamples.writes(rules, [("/", "\"\(long)\"")])
            #expect(!decision.isAllowed)
            #expect(decision.reason != nil, "\(rule.prefix(60))")
        }
    }

    /// No node has such a path, and its segments aren't made.
    @Test(arguments: ["child(newData.val()).exists()", "hasChild(newData.val())", "hasChildren([newData.val()])"])
    func aPathOfVeryManySegmentsHasNothing(look: String) throws {
        let rules = try DatabaseRules("{\"rules\": {\".write\": \"!root.\(look)\"}}")
        let text = String(repeating: "a/", count: 200_000)
        let decision = try DatabaseSamples.writes(rules, [("/", "\"\(text)\"")])
        #expect(decision.isAllowed)
        #expect(decision.cost < 100_000)
    }

    /// What is done for each match or character takes as long as many bytes that are passed over.
    @Test(arguments: [
        ("newData.val().replace('a', 'b') == 'x'", "a"), ("newData.val().replace('a', '') == 'x'", "a"),
        ("newData.val().replace('', '-') == 'x'", "b"), ("newData.val().toLowerCase() == 'x'", "É"),
        ("newData.val().toUpperCase() == 'x'", "é"),
    ])
    func eachReplacedCharacterCosts(rule: String, character: String) throws {
        let count = 10_000
        let rules = try DatabaseRules("{\"rules\": {\".write\": \"\(rule)\"}}")
        func cost(_ text: String) throws -> Int { try DatabaseSamples.writes(rules, [("/", "\"\(text)\"")]).cost }
        #expect(try cost(String(repeating: character, count: count)) > count)
        #expect(try cost("c") < count / 10)
    }

    // MARK: The user

    @Test func aTokensClaimsAreTheVariableAuth() throws {
        let client = ClientIdentity(
            uid: "ada",
            claims: [
                "email": .string("a@b.c"), "admin": .boolean(true), "roles": .array([.string("x")]), "n": .double(1.5),
                "firebase": .map(["sign_in_provider": .string("password")]),
            ])
        #expect(
            DatabaseRulesRequest.auth(client) == [
                "uid": "ada", "provider": "password",
                "token": [
                    "email": "a@b.c", "admin": true, "roles": ["x"], "n": 1.5, "sub": "ada",
                    "firebase": ["sign_in_provider": "password"],
                ],
            ])
        #expect(DatabaseRulesRequest.auth(nil) == .null)
        #expect(DatabaseRulesRequest.auth(ClientIdentity(uid: "b"))["provider"] == .null)
    }
}
