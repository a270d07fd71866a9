import StrictJSON
import Testing

@Suite struct JSONValueTests {
    @Test(
        arguments: [
            ("null", JSONValue.null), (" true ", true), ("false", false), ("0", 0), ("-0", .double(-0.0)), ("-1", -1),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .unsigned(9_223_372_036_854_775_808)),
            ("18446744073709551615", .unsigned(.max)), ("18446744073709551616", .double(18_446_744_073_709_551_616)),
            ("-9223372036854775809", .double(-9_223_372_036_854_775_808)), ("1.0", .double(1)), ("1e2", .double(100)),
            ("0.1", 0.1), ("1E-7", 1e-7), ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)),
            ("5e-324", .double(.leastNonzeroMagnitude)), ("1e-400", .double(0)),
            ("123456789012345678901234567890", 123456789012345678901234567890.0),
            ("\"\"", ""), (#""a\"\\\/\b\f\n\r\t""#, "a\"\\/\u{8}\u{c}\n\r\t"), (#""\u00e9\ud83d\ude00""#, "é😀"),
            ("\"é😀\u{7f}\"", "é😀\u{7f}"), ("[]", []), ("{}", [:]),
            (" [ 1 , [ ] , { } ] ", [1, [], [:]]), (#"{"a":1,"b":{"c":[null]}}"#, ["a": 1, "b": ["c": [nil]]]),
            ("\n\t\r 1", 1),
        ] as [(String, JSONValue)])
    func validTextIsRead(text: String, expected: JSONValue) throws {
        let value = try JSONValue(parsing: Array(text.utf8))
        #expect(value == expected)
        if case .double(let number) = value, case .double(let wanted) = expected {
            #expect(number.bitPattern == wanted.bitPattern)
        }
    }

    @Test(arguments: [
        ("", "the text ends where a value should be, at byte 0"),
        (" ", "the text ends where a value should be, at byte 1"),
        ("nul", "a value should be here, at byte 0"), ("tru1", "a value should be here, at byte 0"),
        ("NaN", "a value should be here, at byte 0"), ("+1", "a value should be here, at byte 0"),
        ("01", "a number begins with a needless 0, at byte 0"), ("-", "a number has no digits, at byte 0"),
        ("-01", "a number begins with a needless 0, at byte 0"), (".5", "a value should be here, at byte 0"),
        ("[1.", "a number has no digits after its point, at byte 1"),
        ("[1e", "a number has no digits in its exponent, at byte 1"),
        ("1e+x", "a number has no digits in its exponent, at byte 0"),
        ("1e400", "a number is larger than any double, at byte 0"),
        ("-1e99999999999999999999", "a number is larger than any double, at byte 0"),
        ("1 2", "the text continues after the value, at byte 2"),
        (" \"a", "a string has no closing quote, at byte 1"), ("\"a\\", "a string has no closing quote, at byte 0"),
        ("\"\\x\"", "JSON has no such escape, at byte 1"),
        ("\"\\u12", "\\u needs four hexadecimal digits, at byte 1"),
        ("\"a\\u12g4\"", "\\u needs four hexadecimal digits, at byte 2"),
        ("\"a\nb\"", "a string contains a control character; write it as an escape, at byte 2"),
        ("\"\\n\n\"", "a string contains a control character; write it as an escape, at byte 3"),
        ("[1,]", "a value should be here, at byte 3"), ("[1 2]", "a comma or ] should be here, at byte 3"),
        ("[", "the text ends where a value should be, at byte 1"),
        ("{\"a\"}", "a colon should be here, at byte 4"),
        ("{a:1}", "a key in quotes should be here, at byte 1"),
        ("{\"a\":1,}", "a key in quotes should be here, at byte 7"),
        ("{\"a\":1 \"b\"}", "a comma or } should be here, at byte 7"),
        ("{\"a\":}", "a value should be here, at byte 5"), ("\u{feff}x", "a value should be here, at byte 3"),
        ("/**/1", "a value should be here, at byte 0"), ("'a'", "a value should be here, at byte 0"),
    ])
    func invalidTextIsRefusedWithItsPlace(text: String, reason: String) {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: Array(text.utf8)) }
        #expect(error?.reason == reason)
    }

    @Test(
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xE2, 0x82, 0x22],
            [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0x5C, 0x6E, 0xFF, 0x22],
        ] as [[UInt8]])
    func invalidUTF8IsRefused(bytes: [UInt8]) {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
        #expect(error?.reason == "a string is not valid UTF-8, at byte 0")
    }

    @Test func depthIsBounded() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array(String(repeating: "[", count: depth).utf8) + Array(String(repeating: "]", count: depth).utf8)
        }
        _ = try JSONValue(parsing: nested(512))
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: nested(513)) }
        #expect(error?.reason == "arrays and objects are nested more than 512 deep, at byte 512")
        let objects = Array(String(repeating: "{\"a\":", count: 10_000).utf8)
        #expect(throws: JSONError.self) { try JSONValue(parsing: nested(10_000)) }
        #expect(throws: JSONError.self) { try JSONValue(parsing: objects) }
    }

    @Test func repeatedKeysAreRefusedWithTheirPlace() {
        let text = #"{"a":1,"b":2,"a":3}"#
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: Array(text.utf8)) }
        #expect(error?.reason == #"the key "a" is repeated, at byte 13"#)
        let members = (0..<1000).map { "\"k\($0 % 999)\":\($0)" }.joined(separator: ",")
        #expect(throws: JSONError.self) { try JSONValue(parsing: Array("{\(members)}".utf8)) }
    }

    @Test func wrappersAreLeftAloneInPlainJSON() throws {
        let text = #"{"@type":"type.googleapis.com/google.protobuf.Int64Value","value":"5"}"#
        #expect(try JSONValue(parsing: Array(text.utf8)).objectValue?.count == 2)
    }

    @Test(
        arguments: [
            ("1.0", 1), ("-2e3", -2000), ("5e18", 5_000_000_000_000_000_000), ("-9223372036854775808.0", Int.min),
            ("0.5", nil), ("9223372036854775808.0", nil), ("-1e300", nil),
        ] as [(String, Int?)])
    func aWholeDoubleIsAnInteger(text: String, expected: Int?) throws {
        #expect(try JSONValue(parsing: Array(text.utf8)).intValue == expected)
        #expect((try? JSONNode(parsing: Array(text.utf8)).integer()) == expected.map { Int64($0) })
    }

    /// A key may be as long as the body that an error is about.
    @Test func longKeysAreCutInErrors() {
        let key = String(repeating: "é", count: 5000)
        let text = Array("{\"\(key)\":1,\"\(key)\":2}".utf8)
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
        let cut = String(repeating: "é", count: 50) + "…"
        #expect(error?.description.contains("the key \"\(cut)\" is repeated") == true)
        #expect((error?.description.utf8.count ?? .max) < 300)
    }

    /// Swift's strings are equal if they are canonically equivalent; keys of the Realtime Database aren't.
    @Test(arguments: [0, 20]) func keysMayDifferInTheirBytesAlone(others: Int) throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let more = (0..<others).map { ("\($0)", JSONValue.integer(Int64($0))) }
        let members: [(String, JSONValue)] = [(composed, 1), (decomposed, 2)] + more
        var object = JSONObject(distinct: members)
        #expect(object.count == 2 + others)
        #expect(object[composed] == 1)
        #expect(object[decomposed] == 2)
        let text = String(decoding: try JSONValue.object(object).serialized(), as: UTF8.self)
        #expect(text.utf8.starts(with: "{\"\(composed)\":1,\"\(decomposed)\":2".utf8))
        let same = JSONObject(distinct: members.reversed())
        #expect(object == same)
        #expect(object.hashValue == same.hashValue)
        #expect(object != JSONObject(distinct: [(composed, 1), ("x", 2)] + more))
        #expect(object != JSONObject(distinct: [(composed, 1), (composed + "x", 2)] + more))
        object[composed] = 3
        #expect(object[composed] == 3)
        #expect(object[decomposed] == 2)
        object[composed] = nil
        #expect(object == JSONObject([(decomposed, 2)] + more))
        // As texts they are equal.
        #expect(object[composed] == 2)
        #expect(JSONObject(members).count == 1 + others)
    }
}
