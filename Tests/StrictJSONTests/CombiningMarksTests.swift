import StrictJSON
import Testing

struct CombiningMarksTests {
    private static func marks(_ count: Int) -> String {
        String(String.UnicodeScalarView((0..<count).map { $0.isMultiple(of: 2) ? "\u{301}" : "\u{323}" }))
    }

    @Test(arguments: [
        String(repeating: "x", count: 10_000), String(repeating: "e\u{301}\u{323}", count: 10_000),
        String(repeating: "漢字かな한글가", count: 1000), String(repeating: "ёжик λόγος", count: 1000),
        String(repeating: "👩‍🚀", count: 1000), marks(1000), "a" + marks(1000),
        marks(1000) + "漢" + marks(1000) + "가" + marks(1000) + "x",
    ])
    func textsOfLanguagesMayBeLong(text: String) {
        #expect(CombiningMarks.areFew(in: text))
    }

    @Test(arguments: [
        marks(1001), "a" + marks(1001), String(repeating: "x", count: 5000) + "漢" + marks(1001) + "x",
        // Which consist of two marks.
        String(repeating: "\u{F73}", count: 1001), String(repeating: "\u{1D165}", count: 1001),
    ])
    func marksInARowHaveABound(text: String) {
        #expect(!CombiningMarks.areFew(in: text))
    }

    /// Such as those of a message that has texts.
    @Test(arguments: [
        [UInt8](repeating: 0xCC, count: 5000), [0xF0, 0x9D, 0x85] + [UInt8](repeating: 0xFF, count: 5000),
    ])
    func otherBytesCountForNothing(bytes: [UInt8]) {
        #expect(bytes.withUnsafeBytes { CombiningMarks.areFew(in: $0) })
        let text = bytes + Array(Self.marks(1001).utf8)
        #expect(!text.withUnsafeBytes { CombiningMarks.areFew(in: $0) })
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
}
