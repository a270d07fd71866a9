import StrictJSON
import Testing

struct JSONNodeTests {
    @Test(arguments: [
        ("", 0, "the text ends where a value should be"),
        ("{", 1, "a key in quotes should be here"),
        ("{\"a\" 1}", 5, "a colon should be here"),
        ("{\"a\":1,}", 7, "a key in quotes should be here"),
        ("[1,]", 3, "a value should be here"),
        ("[1 2]", 3, "a comma or ] should be here"),
        ("1 2", 2, "the text continues after the value"),
        ("01", 0, "a number begins with a needless 0"),
        ("1.", 0, "a number has no digits after its point"),
        ("-", 0, "a number has no digits"),
        ("1e999", 0, "a number is larger than any double"),
        ("tru", 0, "a value should be here"),
        ("\"a", 0, "a string has no closing quote"),
        ("\"a\nb\"", 2, "a string contains a control character; write it as an escape"),
        ("\"\\x\"", 1, "JSON has no such escape"),
        ("\"\\u12g4\"", 1, "\\u needs four hexadecimal digits"),
        ("\u{feff}x", 3, "a value should be here"),
        ("{\"a\":1,\n\"a\":2}", 8, "the key \"a\" is also on line 1; keep one"),
    ])
    func malformedTextIsRefusedWithItsPlace(text: String, offset: Int, message: String) {
        #expect(throws: JSONProblem(offset: offset, message: message)) { try JSONNode(parsing: Array(text.utf8)) }
    }

    /// Readers compare keys, and what has few possible values.
    @Test(arguments: [("\u{301}\u{323}", "\u{301}"), (#"\u0301\u0323"#, #"\u0301"#)])
    func stringsWithTooManyAreRefused(pair: String, one: String) {
        func text(_ more: String) -> [UInt8] {
            Array((#"{"b":1,"a"# + String(repeating: pair, count: 500) + more + "\":2}").utf8)
        }
        let problem = JSONProblem(
            offset: 7, message: "a string has more than 1000 combining marks, such as accents, one after the other")
        #expect(throws: problem) { try JSONNode(parsing: text(one)) }
        #expect(throws: JSONError(.tooManyMarks, at: 7)) { try JSONValue(parsing: text(one)) }
        #expect(throws: Never.self) { try JSONNode(parsing: text("x" + one)) }
        #expect(throws: Never.self) { try JSONValue(parsing: text("x" + one)) }
    }

    @Test func invalidUTF8IsRefused() {
        #expect(throws: JSONProblem(offset: 0, message: "a string is not valid UTF-8")) {
            try JSONNode(parsing: [0x22, 0xFF, 0x22])
        }
    }

    @Test func deepNestingIsRefusedNotFollowed() {
        for text in [String(repeating: "[", count: 100_000), String(repeating: "{\"a\":", count: 100_000)] {
            #expect(throws: JSONProblem.self) { try JSONNode(parsing: Array(text.utf8)) }
        }
        let deepest = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        #expect(throws: Never.self) { try JSONNode(parsing: Array(deepest.utf8)) }
    }

    @Test func tooManyValuesAreRefused() throws {
        for text in ["[1,[2,{}]]", #"{"a":{"b":[1,2]}}"#] {
            _ = try JSONNode(parsing: Array(text.utf8), maxValues: 5)
            #expect(throws: JSONProblem.self) { try JSONNode(parsing: Array(text.utf8), maxValues: 4) }
        }
        let text = "[" + String(repeating: "0,", count: 2_000_000) + "0]"
        #expect(throws: JSONProblem(offset: 3_999_999, message: "the text has more than 2000000 values, the limit")) {
            try JSONNode(parsing: Array(text.utf8))
        }
    }

    @Test func duplicateKeysAreFoundInLargeObjectsToo() {
        let members = (0..<50).map { "\"k\($0)\":\($0)" } + ["\"k7\":0"]
        #expect(throws: JSONProblem.self) { try JSONNode(parsing: Array("{\(members.joined(separator: ","))}".utf8)) }
    }

    @Test func escapesBecomeTheirCharacters() throws {
        let node = try JSONNode(parsing: Array(#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00ü""#.utf8))
        #expect(try node.string() == "\"\\/\u{8}\u{c}\n\r\té😀ü")
    }

    @Test func numbersKeepTheirKind() throws {
        guard case .array(let elements) = try JSONNode(parsing: Array("[9223372036854775807,1.0,-0,1e3]".utf8)).kind
        else { return #expect(Bool(false), "not an array") }
        #expect(elements.map(\.summary) == ["9223372036854775807", "1.0", "-0.0", "1000.0"])
    }

    @Test func placesHavePaths() throws {
        let text = #"{"fields":{"a":{"x":[1,{"y":2}]}},"b":3}"#
        let node = try JSONNode(parsing: Array(text.utf8))
        func path(_ part: String) -> String? {
            text.firstRange(of: part).flatMap {
                node.path(to: text.utf8.distance(from: text.startIndex, to: $0.lowerBound))
            }
        }
        #expect(path("2}") == "fields.a.x[1].y")
        #expect(path("\"y\"") == "fields.a.x[1].y")
        #expect(path("3}") == "b")
        #expect(path("{\"fields\"") == "")
    }

    @Test func writtenStringsReadBackTheSame() throws {
        let string = "\u{0}\u{1f}\"\\\n\r\té😀\u{2028}"
        var text = JSONWriter()
        text.string(string)
        #expect(try JSONNode(parsing: text.bytes).string() == string)
    }

    @Test(arguments: ["null", "-1.5e3", #""a\"]}""#, #"[1,{"a":"}"}]"#, #"{"a":[],"b":"]"}"#])
    func aValueIsFoundInItsText(value: String) throws {
        let text = Array("{\"x\": \(value) ,\"y\":1}".utf8)
        let node = try JSONNode(parsing: text)
        #expect(try #require(node["x"]).text(in: text).elementsEqual(value.utf8))
        #expect(node.text(in: text).elementsEqual(text))
    }

    @Test(arguments: ["1", #""a""#, "[]", #"{"a":[1,[2,{"b":[]}],"c"],"d":{}}"#])
    func aFreedNodeIsNull(text: String) throws {
        var node = try JSONNode(parsing: Array(text.utf8))
        let copy = node
        node.free()
        #expect(node.summary == "null")
        #expect(copy.text(in: Array(text.utf8)).elementsEqual(text.utf8))
    }
}

/// Text by which JSON is compared.
struct CanonicalTextTests {
    private func canonical(_ text: String, maxValues: Int = 100) -> String? {
        Array(text.utf8).withUnsafeBytes { JSONNode.canonicalText(of: $0, maxValues: maxValues) }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        (#"{"b":1,"a":2}"#, #"{"a":2,"b":1}"#),
        (#" [ {"b":{"d":null,"c":true}} , {"a":[]} ] "#, #"[{"b":{"c":true,"d":null}},{"a":[]}]"#),
        (#""\u0061\/\n""#, #""a/\n""#),
        ("[1,1.0,1.50,1e2,18446744073709551615,-0]", "[1,1.0,1.50,1e2,18446744073709551615,-0]"),
        (#"{"B":1,"":2,"a":3,"é":4,"AB":5}"#, #"{"":2,"AB":5,"B":1,"a":3,"é":4}"#),
    ])
    func orderSpaceAndEscapesMakeNoDifference(text: String, expected: String) {
        #expect(canonical(text) == expected)
        #expect(canonical(expected) == expected)
    }

    @Test func otherTextHasNone() {
        #expect(canonical(#"{"a":1,"a":2}"#) == nil)
        #expect(canonical("[1,2") == nil)
        #expect(canonical("[1,2]", maxValues: 3) == "[1,2]")
        #expect(canonical("[1,2]", maxValues: 2) == nil)
    }
}
