@testable import HostConfiguration
@testable import Deployments
import Testing

@Suite struct VariableFileTests {
    private func values(_ text: String) throws -> [String: String] {
        try VariableFile(path: ".env", bytes: Array(text.utf8)).entries.mapValues(\.value)
    }

    @Test(arguments: [
        ("A=b", "b"), ("A = b", "b"), ("  A=b  ", "b"), ("A=", ""), ("A=b c # d", "b c"), ("A=b#c", "b"),
        ("A='b # c'", "b # c"), ("A=\"b # c\" # d", "b # c"), ("A=\"b\\nc\\td\\\\e\\\"f\"", "b\nc\td\\e\"f"),
        ("A='b\\nc'", "b\\nc"), ("A='it\\'s'", "it\\'s"), ("A=\"b\nc\"", "b\nc"), ("A=''", ""), ("A=b=c", "b=c"),
        ("A=[\"x\",\"y\"]", "[\"x\",\"y\"]"), ("A=it's", "it's"), ("A=\"b\\xc\"", "b\\xc"), ("A=b\r", "b"),
        ("A=first\nA=last", "last"), ("# A=b\n\n\tA=c\n", "c"), ("\u{FEFF}A=b", "b"), ("A=b\u{0B}", "b"),
        ("A=ü 東京", "ü 東京"),
    ])
    func valuesAreParsedAsByFirebaseTools(text: String, value: String) throws {
        #expect(try values(text) == ["A": value])
    }

    @Test func entriesHaveTheirLineNumbers() throws {
        let file = try VariableFile(path: ".env", bytes: Array("# a\r\nA=1\r\nB=\"x\ny\"\n\nC=2".utf8))
        #expect(file.entries.mapValues(\.line) == ["A": 2, "B": 3, "C": 6])
    }

    @Test(arguments: [
        ("just words", [1]), ("a=b", [1]), ("1A=b", [1]), ("A=b\nB\nC=\"open\nD=d", [2, 3]), ("=b", [1]),
        ("A=\"b\" c", [1]), ("export A=b", [1]),
    ])
    func anInvalidLineIsReportedByNumberWithoutItsText(text: String, lines: [Int]) {
        let error = #expect(throws: ConfigurationError.self) { try values(text) }
        #expect(error?.problems.compactMap(\.place?.line) == lines)
        #expect(error?.description.contains("words") == false)
    }
}
