import TextFormats
import Testing

/// A text of nothing else.
private func marks(_ count: Int) -> String {
    var text = String(repeating: "\u{301}\u{323}", count: count / 2)
    if !count.isMultiple(of: 2) { text += "\u{301}" }
    return text
}

struct CombiningMarksTests {
    @Test(arguments: [
        String(repeating: "x", count: 10_000), String(repeating: "e\u{301}\u{323}", count: 10_000),
        String(repeating: "漢字かな한글가", count: 1000), String(repeating: "ёжик λόγος", count: 1000),
        String(repeating: "👩‍🚀", count: 1000), marks(1000), "a\(marks(1000))",
        "\(marks(1000))漢\(marks(1000))가\(marks(1000))x",
    ])
    func textsOfLanguagesMayBeLong(text: String) {
        #expect(CombiningMarks.areFew(in: text))
    }

    @Test(arguments: [
        marks(1001), "a\(marks(1001))", "\(String(repeating: "x", count: 5000))漢\(marks(1001))x",
        // Which consist of two marks.
        String(repeating: "\u{F73}", count: 1001), String(repeating: "\u{1D165}", count: 1001),
    ])
    func marksInARowHaveABound(text: String) {
        #expect(!CombiningMarks.areFew(in: text))
    }

    /// Such as those of a message that has texts.
    @Test(arguments: [
        [UInt8](repeating: 0xCC, count: 5000), [UInt8](repeating: 0xFF, count: 5000) + [0xF0, 0x9D, 0x85],
    ])
    func otherBytesCountForNothing(bytes: [UInt8]) {
        #expect(bytes.withUnsafeBytes { CombiningMarks.areFew(in: $0) })
        let text = bytes + Array(marks(1001).utf8)
        #expect(!text.withUnsafeBytes { CombiningMarks.areFew(in: $0) })
    }
}
