import StrictJSON
import Testing

/// What is JSON here, for every reader alike.
@Suite struct StrictnessTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var text: [UInt8]
        var isJSON: Bool

        var testDescription: String { String(decoding: text.prefix(40), as: UTF8.self) }
    }

    private static func rows(_ isJSON: Bool, _ texts: [String]) -> [Row] {
        texts.map { Row(text: Array($0.utf8), isJSON: isJSON) }
    }

    private static func nested(_ depth: Int, _ inner: String = "") -> [String] {
        [
            String(repeating: "[", count: depth) + inner + String(repeating: "]", count: depth),
            String(repeating: #"{"a":"#, count: depth - 1) + "{" + String(repeating: "}", count: depth),
        ]
    }

    /// More containers beside one another than may be in one another.
    private static func siblings(_ value: String) -> String {
        "[" + Array(repeating: value, count: JSONScanner.maxDepth + 1).joined(separator: ",") + "]"
    }

    /// Arrays and objects in one another, three levels at a time.
    private static func mixed(_ times: Int) -> String {
        String(repeating: #"[[{"a":"#, count: times) + "0" + String(repeating: #","b":1},2],3]"#, count: times)
    }

    private static func object(_ keys: [String]) -> String {
        "{" + keys.map { "\"\($0)\":0" }.joined(separator: ",") + "}"
    }

    static let accepted = rows(
        true,
        [
            "null", " true ", "\n\t\r false", "0", "-0", "-1", "10", "1.5", "0.0", "1e2", "1E+2", "1e-2", "-0.5e+10",
            "9223372036854775808", "123456789012345678901234567890", "1e-400", #""""#, #""a""#, #""\"\\\/\b\f\n\r\t""#,
            #""\u0000\u00e9\uFFFF""#, #""\ud83d\ude00""#, "\"é😀\u{7f}\u{2028}\"", "[]", "{}", "[ ]", "{ }",
            " [ 1 , [ ] , { } ] ", #"{"a":1,"b":{"a":[{"a":1},{"a":2}]}}"#, #"{"":1," ":2}"#, #"{"A":1,"a":2}"#,
            #"{"aaaaaaaa":1,"aaaaaaab":2,"aaaaaaaaa":3}"#, object((0..<500).map { "key\($0)" }),
            object((0..<500).map { String(repeating: "k", count: $0) }), object((0..<20).map { "ключ\($0)" }),
            siblings("{}"), siblings("[]"), siblings(#"{"a":[]}"#), "[{},[[],1]]", #"[[],{"a":[],"b":{}}]"#, mixed(170),
            // Half of a surrogate pair, and a byte order mark before the text.
            #""\ud800""#, #""\udc00""#, #""\udfff""#, #""\ud83d\u0041""#, #""\ud83d\ud83d\ude00""#, #""\ud83d\ud83d""#,
            #""\ud83dx""#, #""\ud83d\n""#, #"{"\ud83d":"\ude00\ud83d"}"#, "\u{feff}1", "\u{feff} {} ",
        ] + nested(512))

    static let refused = rows(
        false,
        [
            "", " ", "nul", "tru1", "True", "NaN", "Infinity", "undefined", "'a'", "+1", "01", "-01", "-", "--1", ".5",
            "1.", "1.e2", "1e", "1e+", "0x10", "1_000", "1 2", "1,", "\u{feff}", "\u{fec0}1", "\u{feff}\u{feff}1",
            " \u{feff}1",
            "[\u{feff}1]", "/**/1", "1//", "\u{a0}1", "\u{c}1",
            #"""#, #""a"#, #""a\"#, #""\x""#, #""\'""#, #""\u12""#, #""\u12g4""#, #""\u12G4""#, #""\u12:4""#,
            #""\u12/4""#, #""\u12@4""#, #""\u12`4""#, #""\u 123""#, "\"a\nb\"", "\"\\n\n\"",
            #""\n"#, #""\nabc"#, "\"\u{0}\"", "\"\u{1f}\"", "\"a\u{1f}bcdefghijkl\"", #""\ud83d\u00""#,
            #""\ud83d\u00g0""#, #""\ud83d\x""#,
            #""\ud83d\"#, #""\ud83d\u"#, "[", "]", "[1", "[1,", "[1,]", "[,1]",
            "[1 2]", "[}", "{",
            "}", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\"}", "{a:1}", "{1:1}", "{\"a\":1,}", "{,}",
            "{\"a\":1 \"b\":2}", "{\"a\":}", "{\"a\" 1}", "{\"a\":1]",
        ] + nested(513) + nested(100_000)
            + [String(repeating: "[", count: 100_000), String(repeating: #"{"a":"#, count: 100_000)])

    /// Objects with a key twice. Swift's strings are equal if they are canonically equivalent, and so are keys.
    static let repeated = [
        #"{"a":1,"a":2}"#, #"{"a":1,"b":2,"a":1}"#, #"{"":1,"":2}"#, #"[{"x":{"a":1,"\u0061":2}}]"#,
        #"{"é":1,"\u00e9":2}"#, #"{"é":1,"e\#u{301}":2}"#, #"{"\ud800":1,"\ufffd":2}"#,
        object((0..<500).map { "key\($0)" } + ["key77"]), object(["key77"] + (0..<500).map { "key\($0)" }),
        object((0..<20).map { "ключ\($0)" } + ["ключ7"]), object((0..<9).map { "\($0)" } + ["0"]),
        object(["é"] + (0..<20).map { "\($0)" } + ["e\u{301}"]),
    ]

    /// Each within a string, and outside of one.
    private static let malformed: [[UInt8]] = [
        [0x80], [0xFF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x9F, 0x80], [0xE2, 0x82],
        [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x8F, 0x80, 0x80], [0xF0, 0x9F, 0x98], [0xF4, 0x90, 0x80, 0x80],
        [0xF5, 0x80, 0x80, 0x80],
    ]

    static let invalidUTF8: [Row] = malformed.flatMap { (bytes: [UInt8]) -> [Row] in
        let quote: [UInt8] = [0x22]
        let afterEscape: [UInt8] = Array("\"\\n".utf8) + bytes + Array("abcdefgh\"".utf8)
        let texts: [[UInt8]] = [quote + bytes + quote, afterEscape, bytes]
        return texts.map { Row(text: $0, isJSON: false) }
    }

    @Test(arguments: accepted + refused + invalidUTF8)
    func everyReaderAgrees(row: Row) {
        #expect(((try? JSONValue(parsing: row.text)) != nil) == row.isJSON)
        #expect(((try? JSONNode(parsing: row.text)) != nil) == row.isJSON)
        #expect(Self.isSkipped(row.text) == row.isJSON)
    }

    /// What passes a text on needn't compare its keys: the reader of the tree does.
    @Test(arguments: repeated)
    func repeatedKeysAreRefusedByTheReadersOfTrees(text: String) {
        #expect((try? JSONValue(parsing: Array(text.utf8))) == nil)
        #expect((try? JSONNode(parsing: Array(text.utf8))) == nil)
        #expect(Self.isSkipped(Array(text.utf8)))
    }

    /// Like a number by the grammar that no double holds.
    @Test(arguments: ["1e400", "-1e99999999999999999999", "1" + String(repeating: "0", count: 400)])
    func numberBeyondDoublesIsJSONThatNoTreeHolds(text: String) {
        #expect((try? JSONValue(parsing: Array(text.utf8))) == nil)
        #expect((try? JSONNode(parsing: Array(text.utf8))) == nil)
        #expect(Self.isSkipped(Array(text.utf8)))
    }

    @Test(arguments: [
        (#""\ud83d""#, "\u{FFFD}"), (#""\ude00x""#, "\u{FFFD}x"), (#""\ud83d\u0041""#, "\u{FFFD}A"),
        (#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"), (#""\ude00\ud83d""#, "\u{FFFD}\u{FFFD}"),
        (#""\ud83d\n\uDe00""#, "\u{FFFD}\n\u{FFFD}"), (#""\uD83D\uDE00""#, "😀"), (#""\uDBFF\uDFFF""#, "\u{10FFFF}"),
        (#""\ude00\ude00""#, "\u{FFFD}\u{FFFD}"), (#""\ud83d\nde00""#, "\u{FFFD}\nde00"),
        (#""\ud7ff\ue000""#, "\u{D7FF}\u{E000}"), ("\u{feff}\"\u{feff}a\"", "\u{feff}a"),
    ])
    func halfOfASurrogatePairIsReadAsTheReplacementCharacter(text: String, expected: String) throws {
        let bytes = Array(text.utf8)
        #expect(
            try JSONValue(parsing: bytes).stringValue?.unicodeScalars.elementsEqual(expected.unicodeScalars) == true)
        #expect(try JSONNode(parsing: bytes).string().unicodeScalars.elementsEqual(expected.unicodeScalars))
    }

    @Test(
        arguments: [
            (#""\ud83d""#, nil), (#""\ude00x""#, nil), (#""\ud83d\u0041""#, nil), (#""\ud83d\ud83d\ude00""#, nil),
            (#""a\\\n\udFFF""#, nil), (#""\ud83d\nde00""#, nil), (#""\uD83D\uDE00""#, "😀"), (#""\ufffd""#, "\u{FFFD}"),
            (#""\\ud83d""#, #"\ud83d"#), (#""\ud7ff\ue000\"""#, "\u{D7FF}\u{E000}\""), ("\"\u{FFFD}\"", "\u{FFFD}"),
            (#""""#, ""),
        ] as [(String, String?)])
    func halfOfASurrogatePairIsRefusedWhereStringsAreKept(text: String, expected: String?) throws {
        try Array(text.utf8).withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            if let expected {
                let string = try scanner.pairedString()
                #expect(string == expected)
                #expect(scanner.isAtEnd)
            } else {
                let error = #expect(throws: JSONError.self) { try scanner.pairedString() }
                #expect(error?.problem == .halfSurrogatePair)
                #expect(error?.offset == 0)
            }
        }
    }

    @Test func aByteOrderMarkHasNoColumn() {
        #expect(JSONPosition(of: 5, in: Array("\u{feff}{ 1".utf8)) == JSONPosition(of: 2, in: Array("{ 1".utf8)))
        #expect(JSONPosition(of: 5, in: Array("\u{feff}\n 1".utf8)).column == 2)
        #expect(JSONPosition(of: 3, in: Array(" \u{feff}".utf8)).column == 4)
    }

    /// Every place at which eight bytes may end.
    @Test(arguments: 0..<40)
    func stringsEndWhereTheyEnd(length: Int) throws {
        for tail in ["", "é", "\\n", "\\\"", "😀", "\\ud83d\\ude00", "\u{7f}"] {
            for before in 0..<9 {
                let content = String(repeating: "x", count: length) + tail + String(repeating: "y", count: before)
                let text = Array("[\"\(content)\",1]".utf8)
                #expect(Self.isSkipped(text))
                let expected = content.replacing("\\n", with: "\n").replacing("\\\"", with: "\"")
                    .replacing("\\ud83d\\ude00", with: "😀")
                #expect(try JSONValue(parsing: text)[0]?.stringValue == expected)
            }
        }
    }

    static func isSkipped(_ text: [UInt8]) -> Bool {
        text.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            do throws(JSONError) {
                try scanner.skipValue()
                try scanner.end()
                return true
            } catch {
                return false
            }
        }
    }
}
