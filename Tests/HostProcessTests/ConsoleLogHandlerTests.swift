@testable import HostProcess
import Testing

struct ConsoleLogHandlerTests {
    @Test(arguments: ["\n", "\r\n", "\u{0}", "\u{1B}", "\u{7F}", "\u{85}", "\u{9B}", "\u{2028}", "\u{2029}"])
    func noTextCanForgeALine(control: String) {
        let line = LogRecord.line("a\(control)b")
        #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) })
        #expect(!line.unicodeScalars.contains("\u{2028}") && !line.unicodeScalars.contains("\u{2029}"))
        #expect(line.hasPrefix("a ") && line.hasSuffix(" b"))
    }

    @Test(arguments: ["", "a b", "é – ü", "€", "日本", "\u{A0}"]) func otherTextStays(text: String) {
        #expect(LogRecord.line(text) == text)
    }
}
