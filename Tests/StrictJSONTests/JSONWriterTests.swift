import StrictJSON
import Testing

@Suite struct JSONWriterTests {
    @Test(
        arguments: [
            (.null, "null"), (true, "true"), (.integer(.min), "-9223372036854775808"), (0, "0"), (-7, "-7"), (10, "10"),
            (.unsigned(.max), "18446744073709551615"), (.double(3), "3"), (.double(-0.0), "-0"), (1.5, "1.5"),
            (.double(9_007_199_254_740_991), "9007199254740991"), (.double(1e300), "1e+300"),
            (.double(9_007_199_254_740_992), "9007199254740992.0"), (.double(.leastNonzeroMagnitude), "5e-324"),
            ("a\"\\\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}/é😀", #""a\"\\\b\f\n\r\t\u0001\u001f\#u{7f}/é😀""#),
            ([1, [], [:]], "[1,[],{}]"),
            (["b": 1, "a": [nil]], #"{"b":1,"a":[null]}"#),
        ] as [(JSONValue, String)])
    func valueIsWrittenCompactly(value: JSONValue, text: String) throws {
        let bytes = try value.serialized()
        #expect(String(decoding: bytes, as: UTF8.self) == text)
        #expect(try JSONValue(parsing: bytes).doubleValue == value.doubleValue)
    }

    @Test(arguments: [
        ("", #""""#), ("\u{85}", #""\u0085""#), ("\u{2028}\u{2029}", #""\u2028\u2029""#),
        ("購入 a\u{2028}b: é\u{2027}\u{202A}\u{85}, and more", #""購入 a\u2028b: é\#u{2027}\#u{202A}\u0085, and more""#),
        ("1234567\u{2029}", #""1234567\u2029""#),
    ])
    func lineEndsCanBeEscaped(text: String, json: String) throws {
        var writer = JSONWriter()
        writer.string(text)
        writer.escapeLineEnds()
        let bytes = writer.bytes
        #expect(String(decoding: bytes, as: UTF8.self).unicodeScalars.elementsEqual(json.unicodeScalars))
        #expect(try JSONValue(parsing: bytes) == .string(text))
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func numberThatJSONHasNotIsRefusedWithItsPath(number: Double) {
        let value: JSONValue = ["a": [1, ["b": .double(number)]]]
        let error = #expect(throws: JSONError.self) { try value.serialized() }
        #expect(error?.description == "a[1].b: JSON has no number for \(number)")
    }

    @Test func equalityIgnoresTheOrderOfMembers() {
        let a: JSONValue = ["x": 1, "y": 2]
        let b: JSONValue = ["y": 2, "x": 1]
        #expect(a == b)
        #expect(a.hashValue == b.hashValue)
        #expect(a != ["x": 1, "y": 3])
        #expect(a != ["x": 1])
    }

    @Test func membersCanBeSetAndRemoved() {
        var object = JSONObject((0..<40).map { ("k\($0)", .integer($0)) })
        object["k3"] = nil
        object["k39"] = "new"
        object["more"] = true
        #expect(object.count == 40)
        #expect(object["k3"] == nil)
        #expect(object["k4"] == 4)
        #expect(object["k39"] == "new")
        #expect(object.keys.last == "more")
    }
}
