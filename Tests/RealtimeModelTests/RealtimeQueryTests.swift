import RealtimeModel
import StrictJSON
import RealtimeTesting
import TestSupport
import Testing

/// Queries as clients send them, and what they match.
struct RealtimeQueryTests {
    private static let dinosaurs = #"""
        {"lambeosaurus":{"height":2.1,"about":{"order":"b"}},"stegosaurus":{"height":4,"about":{"order":"a"}},
         "bruhathkayosaurus":{"height":25},"linhenykus":{"height":0.6,"about":{"order":"c"}},
         "nameless":{"height":"tall"},"ghost":{"weight":1},"flag":{"height":true},"group":{"height":{"m":1}}}
        """#
    private static let scores = #"{"10":3,"9":1,"a":2,"-5":7,"b":"x","c":false}"#
    private static let priorities =
        #"{"a":{".value":1,".priority":2},"b":{".value":2,".priority":1},"c":3,"d":{".value":4,".priority":"x"}}"#

    private func rest(_ parameters: String, isShallow: Bool = false) throws -> RealtimeQuery {
        let pairs = parameters.split(separator: "&").map { part in
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (name: String(sides[0]), value: String(sides[1]))
        }
        return try RealtimeQuery(parameters: pairs, isShallow: isShallow)
    }

    private func message(_ text: String) throws -> RealtimeQuery {
        try RealtimeQuery(message: try JSONValue(parsing: Array(text.utf8)))
    }

    private func matches(_ data: String, _ query: RealtimeQuery) throws -> [String] {
        try node(data)?.matching(query)?.children.map(\.key.string).sorted() ?? []
    }

    @Test(arguments: [
        ("equalTo=4", ["stegosaurus"]), ("startAt=2.1&endAt=4", ["lambeosaurus", "stegosaurus"]),
        ("startAfter=0.6&endBefore=4", ["lambeosaurus"]), ("limitToFirst=2", ["flag", "ghost"]),
        ("limitToLast=2", ["group", "nameless"]), ("startAt=1&limitToFirst=1", ["lambeosaurus"]),
        ("equalTo=null", ["ghost"]),
        ("startAt=4,\"t\"", ["bruhathkayosaurus", "group", "nameless"]),
        ("endAt=4,\"a\"&startAt=2.1", ["lambeosaurus"]),
        ("startAfter=4,\"a\"&endBefore=25,\"c\"", ["bruhathkayosaurus", "stegosaurus"]),
        ("endAt=true", ["flag", "ghost"]), ("startAt=\"a\"", ["group", "nameless"]),
    ])
    func childIndex(parameters: String, expected: [String]) throws {
        #expect(try matches(Self.dinosaurs, rest("orderBy=\"height\"&" + parameters)) == expected)
    }

    @Test(
        arguments: [
            (dinosaurs, "orderBy=\"about/order\"&startAt=\"b\"", ["lambeosaurus", "linhenykus"]),
            (
                dinosaurs, "orderBy=\"$key\"&startAt=\"g\"&endAt=\"l\u{F8FF}\"",
                ["ghost", "group", "lambeosaurus", "linhenykus"]
            ),
            (scores, "orderBy=\"$key\"&limitToFirst=3", ["-5", "10", "9"]),
            (scores, "orderBy=\"$key\"&limitToLast=2", ["b", "c"]),
            (scores, "orderBy=\"$key\"&startAfter=\"9\"&limitToFirst=1", ["10"]),
            (scores, "orderBy=\"$key\"&equalTo=\"a\"", ["a"]),
            (scores, "orderBy=\"$key\"&endBefore=\"10\"", ["-5", "9"]),
            (scores, "orderBy=\"$value\"&startAt=2&endAt=3", ["10", "a"]),
            (scores, "orderBy=\"$value\"&limitToLast=1", ["b"]), (scores, "orderBy=\"$value\"&limitToFirst=1", ["c"]),
            (priorities, "orderBy=\"$priority\"&startAt=1&endAt=2", ["a", "b"]),
            (priorities, "orderBy=\"$priority\"&limitToFirst=1", ["c"]),
            (priorities, "orderBy=\"$priority\"&limitToLast=1", ["d"]),
            ("1", "orderBy=\"$key\"&limitToFirst=1", []), ("null", "orderBy=\"$key\"", []),
        ] as [(String, String, [String])])
    func otherIndices(data: String, parameters: String, expected: [String]) throws {
        #expect(try matches(data, rest(parameters)) == expected)
    }

    @Test func aShallowRequestPagesByBareKeys() throws {
        let data = #"{"a":1,"b":2,"7":3,"10":4}"#
        #expect(try matches(data, rest("limitToFirst=1&startAfter=a", isShallow: true)) == ["b"])
        #expect(try matches(data, rest("limitToFirst=1&startAfter=7", isShallow: true)) == ["10"])
        #expect(try matches(data, rest("startAfter=\"a\"", isShallow: true)) == ["b"])
        // As JSON it would be several values.
        let places = #"{"1,2,3":1,"1,2,4":2,"1,3":3}"#
        #expect(try matches(places, rest("limitToFirst=1&startAfter=1,2,3", isShallow: true)) == ["1,2,4"])
        #expect(try matches(places, rest("startAfter=1,2,4", isShallow: true)) == ["1,3"])
        #expect(throws: RealtimeQueryError.invalidBound) { try rest("startAfter=", isShallow: true) }
    }

    @Test(
        arguments: [
            ("limitToFirst=1", .orderByMissing, "orderBy must be defined when other query parameters are defined"),
            ("orderBy=height", .invalidOrderBy, "orderBy must be a valid JSON encoded path"),
            ("orderBy=\"a.b\"", .invalidOrderBy, "orderBy must be a valid JSON encoded path"),
            ("orderBy=\".key\"", .invalidOrderBy, "orderBy must be a valid JSON encoded path"),
            ("orderBy=\"\"", .invalidOrderBy, "orderBy must be a valid JSON encoded path"),
            ("orderBy=1", .invalidOrderBy, "orderBy must be a valid JSON encoded path"),
            ("orderBy=\"a\"&equalTo={}", .invalidBound, "Constraint index field must be a JSON primitive"),
            ("orderBy=\"a\"&equalTo=x", .invalidBound, "Constraint index field must be a JSON primitive"),
            ("orderBy=\"a\"&startAt=", .invalidBound, "Constraint index field must be a JSON primitive"),
            ("orderBy=\"a\"&startAt=1,\"k\",2", .invalidBound, "Constraint index field must be a JSON primitive"),
            ("orderBy=\"a\"&startAt=1,2", .boundNotKey, nil), ("orderBy=\"$key\"&startAt=1", .boundNotKey, nil),
            ("orderBy=\"a\"&limitToFirst=0", .invalidLimit, nil), ("orderBy=\"a\"&limitToFirst=x", .invalidLimit, nil),
            ("orderBy=\"a\"&limitToLast=-1", .invalidLimit, nil),
            ("orderBy=\"a\"&limitToFirst=1&limitToLast=1", .severalLimits, nil),
            ("orderBy=\"a\"&equalTo=1&startAt=1", .severalBounds, nil),
            ("orderBy=\"a\"&endAt=1&endBefore=1", .severalBounds, nil),
        ] as [(String, RealtimeQueryError, String?)])
    func parametersAreRefused(parameters: String, error: RealtimeQueryError, text: String?) {
        #expect(throws: error) { try rest(parameters) }
        #expect(text == nil || error.description == text)
    }

    @Test func aMissingIndexSaysWhatToAdd() throws {
        #expect(
            RealtimeQueryError.indexNotDefined(index: "weight", path: try path("open/dinosaurs")).description
                == #"Index not defined, add ".indexOn": "weight", for path "/open/dinosaurs", to the rules"#)
    }

    @Test(arguments: [
        "{}", #"{"i":".key","l":1,"vf":"l"}"#, #"{"i":"points","l":2,"vf":"r"}"#,
        #"{"sp":null,"sin":true,"ep":"x","en":"k","ein":false}"#,
        #"{"i":"a/b","sp":1.5,"sn":"[MAX_NAME]","sin":false,"ep":true,"en":"[MIN_NAME]","ein":false}"#,
        #"{"i":".value","sp":10,"sn":"k","sin":false,"ep":10,"en":"k","ein":true}"#,
        #"{"i":".key","sp":"a","sin":true,"ep":"b","ein":true,"l":5,"vf":"r"}"#,
    ])
    func messagesAreWrittenAsTheyWereRead(text: String) throws {
        let query = try message(text)
        var writer = JSONWriter()
        writer.realtime(query)
        #expect(
            try JSONValue(parsing: writer.bytes) == JSONValue(parsing: Array(text.utf8)),
            "\(String(decoding: writer.bytes, as: UTF8.self))")
        #expect(query.isDefault == (text == "{}"))
    }

    @Test func absentMembersHaveDefaults() throws {
        let query = try message(#"{"i":"facebookId","sp":"f1","ep":"f1"}"#)
        #expect(query.start == .init(value: "f1", key: .minimum, isInclusive: true))
        #expect(query.end == .init(value: "f1", key: .maximum, isInclusive: true))
        #expect(!query.loadsAll)
        #expect(try message(#"{"l":3}"#).limit == .last(3))
        #expect(try message(#"{"l":3,"sp":1}"#).limit == .first(3))
        #expect(try message(#"{"i":"a"}"#).loadsAll && !message(#"{"i":"a"}"#).isDefault)
    }

    @Test(
        arguments: [
            ("1", .notAnObject), (#"{"i":1}"#, .invalidOrderBy), (#"{"i":"a.b"}"#, .invalidOrderBy),
            (#"{"i":".keys"}"#, .invalidOrderBy),
            (#"{"sp":[]}"#, .invalidBound), (#"{"sp":{"a":1}}"#, .invalidBound), (#"{"sp":1,"sn":2}"#, .boundNotKey),
            (#"{"i":".key","sp":1}"#, .boundNotKey), (#"{"l":0,"vf":"l"}"#, .invalidLimit),
            (#"{"l":"1","vf":"l"}"#, .invalidLimit),
        ] as [(String, RealtimeQueryError)])
    func messagesAreRefused(text: String, error: RealtimeQueryError) {
        #expect(throws: error) { try message(text) }
    }

    @Test func queriesOfOneValueLeaveOutThePriority() throws {
        let data = try #require(try node(#"{"a":1,"b":2,".priority":5}"#))
        #expect(text(data.matching(try message("{}"))) == #"{"a":1,"b":2,".priority":5}"#)
        #expect(text(data.matching(try message(#"{"i":".value","sp":2,"ep":2}"#))) == #"{"b":2}"#)
    }

    /// As Android and Java write `startAfter` of a value, and of the last key of all.
    @Test func aBoundAfterAllKeysHasTwoNames() throws {
        let data = #"{"A":1,"_z":1,"a":1,"b":2}"#
        for name in ["[MAX_NAME]", "[MAX_KEY]"] {
            let after = try message(#"{"i":".value","sp":1,"sn":"\#(name)","l":1,"vf":"l"}"#)
            #expect(after.start == .init(value: 1, key: .maximum, isInclusive: true))
            #expect(try matches(data, after) == ["b"])
            #expect(try matches(data, message(#"{"i":".key","sp":"\#(name)"}"#)) == [])
        }
    }

    /// Bounds as mobile clients write them: the key that follows the longest one.
    @Test func aBoundMayBeLongerThanAnyKey() throws {
        let longest = String(repeating: "k", count: 768)
        let data = #"{"\#(longest)":1,"k":2,"l":3}"#
        #expect(try matches(data, message(#"{"i":".key","sp":"\#(longest)------------------"}"#)) == ["l"])
    }

    @Test func queriesAgreeWithAFilterOfAllChildren() async throws {
        try await FuzzRounds.run("queries", count: 500) { random, seed in
            guard let data = try node(RandomValues.json(&random)), data.leaf == nil else { return }
            func bound(isStart: Bool) -> RealtimeQuery.Bound? {
                guard random.once(in: 2) else { return nil }
                let values: [RealtimeLeaf?] = [nil, true, 1, -0.5, "", "text"]
                let keys: [RealtimeQuery.BoundKey] = [
                    .minimum, .maximum, .key(RealtimeKey(unchecked: random.pick(RandomValues.keys))),
                    isStart ? .minimum : .maximum,
                ]
                return .init(value: random.pick(values), key: random.pick(keys), isInclusive: random.once(in: 2))
            }
            var query = RealtimeQuery(
                index: random.pick([.key, .value, .priority, .child(try path("a")), .child(try path("a/b"))]),
                start: bound(isStart: true), end: bound(isStart: false))
            let all = data.children.filter { query.includes(query.entry(of: $0.node, key: $0.key)) }
                .sorted { query.entry(of: $0.node, key: $0.key) < query.entry(of: $1.node, key: $1.key) }.map(\.key)
            let count = Int.random(in: 1...4, using: &random)
            for limit in [nil, .first(count), .last(count)] as [RealtimeQuery.Limit?] {
                query.limit = limit
                let expected =
                    switch limit {
                    case nil: all
                    case .first?: Array(all.prefix(count))
                    case .last?: Array(all.suffix(count))
                    }
                let found = data.matching(query)?.children.map(\.key) ?? []
                #expect(found == expected.sorted(), "seed \(seed), \(query)")
            }
        }
    }
}
