import RealtimeModel
import StrictJSON
import RealtimeTesting
import Testing

/// Each refusal has an error of its own, with the place.
struct RealtimeRefusalTests {
    @Test(
        arguments: [
            (#"{"ok":{"a.b":1}}"#, .invalidKey("a.b"), "/ok"), (#"{"a#b":1}"#, .invalidKey("a#b"), "/"),
            (#"{"a$b":1}"#, .invalidKey("a$b"), "/"), (#"{"a[b":1}"#, .invalidKey("a[b"), "/"),
            (#"{"a]b":1}"#, .invalidKey("a]b"), "/"), (#"{"a/b":1}"#, .invalidKey("a/b"), "/"),
            (#"{"":1}"#, .invalidKey(""), "/"), (#"{"a\nb":1}"#, .invalidKey("a\nb"), "/"),
            (#"{"a\u007f":1}"#, .invalidKey("a\u{7F}"), "/"), (#"{"a.b":null}"#, .invalidKey("a.b"), "/"),
            (#"{"a":{".sv2":1}}"#, .unknownDottedKey(".sv2"), "/a"), (#"{".":1}"#, .unknownDottedKey("."), "/"),
            (#"{"a":{".value":1,"b":1}}"#, .valueBesideChildren, "/a"),
            (#"{"a":{".value":1,"b":null}}"#, .valueBesideChildren, "/a"),
            (#"{".value":{"b":1}}"#, .valueNotLeaf, "/"), (#"{".value":{}}"#, .valueNotLeaf, "/"),
            (#"{".value":[1]}"#, .valueNotLeaf, "/"), (#"{"a":{"b":1,".priority":true}}"#, .invalidPriority, "/a"),
            (#"{".value":1,".priority":{"a":1}}"#, .invalidPriority, "/"),
            (#"{".value":1,".priority":[]}"#, .invalidPriority, "/"),
            (#"{"a":[{".sv":"nonsense"}]}"#, .unknownServerValue, "/a/0"), (#"{".sv":1}"#, .unknownServerValue, "/"),
            (#"{".sv":{}}"#, .unknownServerValue, "/"), (#"{".sv":{"decrement":1}}"#, .unknownServerValue, "/"),
            (#"{".sv":{"increment":1,"x":1}}"#, .unknownServerValue, "/"),
            (#"{".sv":{"increment":"1"}}"#, .invalidIncrement, "/"),
            (#"{".sv":{"increment":null}}"#, .invalidIncrement, "/"),
            (#"{".sv":"timestamp","a":1}"#, .serverValueBesideOthers, "/"),
            (#"{".sv":"timestamp",".priority":1}"#, .serverValueBesideOthers, "/"),
            (#"{".value":{".sv":"timestamp","a":1}}"#, .serverValueBesideOthers, "/"),
            (#"{"a":1,"b":2,"a":3}"#, .repeatedKey("a"), "/"), (#"{"a":null,"a":3}"#, .repeatedKey("a"), "/"),
            (#"{"a":null,"a":null}"#, .repeatedKey("a"), "/"),
            (#"{".value":1,".value":1}"#, .repeatedKey(".value"), "/"),
            (#"{"a":"#, .json(.missingValue), "/a"), (#"{"a":1"#, .json(.missingMemberSeparator), "/"),
            (#"{"a" 1}"#, .json(.missingColon), "/"), (#"[1 2]"#, .json(.missingElementSeparator), "/"),
            (#"{1:2}"#, .json(.missingKey), "/"), ("", .json(.missingValue), "/"), ("1 1", .json(.trailingText), "/"),
            ("tru", .json(.notAValue), "/"), ("1e999", .json(.numberTooLarge), "/"),
            ("{\"a\":\"\u{1}\"}", .json(.controlCharacter), "/a"),
            (#"{"a":"\ud800"}"#, .json(.halfSurrogatePair), "/a"),
            (#"{"a":{"\udc00":1}}"#, .json(.halfSurrogatePair), "/a"),
            (#"{".value":1,".priority":"x\ud83d"}"#, .json(.halfSurrogatePair), "/"),
        ] as [(String, RealtimeError.Problem, String)])
    func valueIsRefused(text: String, problem: RealtimeError.Problem, place: String) throws {
        let error = #expect(throws: RealtimeError.self) { try node(text) }
        #expect(error?.problem == problem)
        #expect(error?.path.description == place)
        #expect(error?.description.isEmpty == false)
    }

    @Test func charactersBeyondSixteenBitsAreKept() throws {
        #expect(try node(#"{"\ud83d\ude00":"\uD83D\uDE00","\ufffd":1}"#) == node("{\"😀\":\"😀\",\"\u{FFFD}\":1}"))
    }

    @Test func keysThatAreOnlyCanonicallyEquivalentAreTwo() throws {
        #expect(try node("{\"e\u{301}\":1,\"\u{E9}\":2}")?.children.count == 2)
    }

    @Test func aKeyHasAtMost768Bytes() throws {
        #expect(try node(#"{"\#(String(repeating: "k", count: 768))":1}"#) != nil)
        let long = String(repeating: "é", count: 384) + "k"
        #expect(throws: RealtimeError(.invalidKey(long), at: .root, offset: 1)) { try node(#"{"\#(long)":1}"#) }
    }

    @Test func anUpdateHasAtMost500000Nodes() throws {
        func update(_ count: Int) throws -> RealtimeUpdate {
            let half = "[" + Array(repeating: "1", count: count / 2 - 1).joined(separator: ",") + "]"
            return try RealtimeUpdate(parsing: Array("{\"a\":\(half),\"b\":\(half)}".utf8), at: .root)
        }
        #expect(try update(500_000).entries.count == 2)
        let error = #expect(throws: RealtimeError.self) { try update(500_002) }
        #expect(error?.problem == .updateTooLarge)
    }

    @Test(arguments: [("{\"d\":", "}"), ("[", "]")])
    func dataAreAtMost32Deep(open: String, close: String) throws {
        func nested(_ depth: Int) -> String {
            String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
        }
        #expect(try node(nested(32)) != nil)
        for depth in [33, 40, 100_000] {
            let error = #expect(throws: RealtimeError.self) { try node(nested(depth)) }
            #expect(error?.problem == .tooDeep)
        }
        let target = RealtimeTarget(try path("a/b"))
        #expect(throws: Never.self) { try RealtimeWriteValue(parsing: Array(nested(30).utf8), at: target) }
        #expect(throws: RealtimeError.self) { try RealtimeWriteValue(parsing: Array(nested(31).utf8), at: target) }
    }

    @Test func aStringHasAtMost10MiB() throws {
        let limit = RealtimeLimits.maxStringBytes
        #expect(try node("\"\(String(repeating: "x", count: limit))\"") != nil)
        let error = #expect(throws: RealtimeError.self) { try node("\"\(String(repeating: "x", count: limit + 1))\"") }
        #expect(error?.problem == .stringTooLong(limit + 1))
    }

    @Test(
        arguments: [("true", .invalidPriority), (#"{"a":1}"#, .invalidPriority), ("[1]", .invalidPriority)]
            as [(String, RealtimeError.Problem)])
    func priorityIsRefused(text: String, problem: RealtimeError.Problem) throws {
        let error = #expect(throws: RealtimeError.self) {
            try RealtimeWriteValue(parsing: Array(text.utf8), at: RealtimeTarget(.root, isPriority: true))
        }
        #expect(error?.problem == problem)
    }

    @Test(
        arguments: [
            ("[1,2]", .updateNotObject), ("1", .updateNotObject), (#"{"a":1,"a/b":2}"#, .overlappingPaths("a", "a/b")),
            (#"{"a/b":1,"b":2,"a":1}"#, .overlappingPaths("a", "a/b")),
            (#"{"a":1,"/a/":2}"#, .overlappingPaths("a", "a")),
            (#"{"a":1,"a/.priority":2}"#, .overlappingPaths("a", "a/.priority")), (#"{"":1}"#, .emptyUpdatePath),
            (#"{"/":1}"#, .emptyUpdatePath), (#"{"a.b":1}"#, .invalidKey("a.b")), (#"{"a/b#":1}"#, .invalidKey("a/b#")),
            (#"{"a/.value":1}"#, .invalidKey("a/.value")), (#"{"a":1"#, .json(.missingMemberSeparator)),
            (#"{"a/.priority":true}"#, .invalidPriority), (#"{"a":{"b.":1}}"#, .invalidKey("b.")),
            (#"{"a/\ud800":1}"#, .json(.halfSurrogatePair)), (#"{"a":"\ud800"}"#, .json(.halfSurrogatePair)),
        ] as [(String, RealtimeError.Problem)])
    func updateIsRefused(text: String, problem: RealtimeError.Problem) throws {
        let error = #expect(throws: RealtimeError.self) { try RealtimeUpdate(parsing: Array(text.utf8), at: .root) }
        #expect(error?.problem == problem)
    }

    @Test func restNamesTheKeysPlace() throws {
        let body = Array("{\n  \"a\": {\"b.c\": 1}}".utf8)
        let error = #expect(throws: RealtimeError.self) {
            try RealtimeWriteValue(parsing: body, at: RealtimeTarget(.root))
        }
        #expect(
            error?.restMessage(body: body)
                == "Invalid data; couldn't parse key beginning at 2:9. Key value can't be empty or contain $ # [ ] / or ."
        )
    }

    @Test func restNamesWhatAnUpdateHasToBe() throws {
        let body = Array("[1]".utf8)
        let error = #expect(throws: RealtimeError.self) { try RealtimeUpdate(parsing: body, at: .root) }
        #expect(
            error?.restMessage(body: body, isUpdate: true)
                == "Invalid data; couldn't parse JSON object. Are you sending a JSON object with valid key names?")
    }
}
