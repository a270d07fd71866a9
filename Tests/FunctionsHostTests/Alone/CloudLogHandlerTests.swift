import DocumentModel
import Logging
import Testing

@testable import FunctionsHost

@Suite struct CloudLogHandlerTests {
    @Test(arguments: [
        (Logger.Level.trace, "DEBUG"), (.info, "INFO"), (.notice, "NOTICE"), (.warning, "WARNING"), (.error, "ERROR"),
        (.critical, "CRITICAL"),
    ])
    func severitiesAreTheClouds(level: Logger.Level, severity: String) throws {
        let line = CloudLogHandler.line(level, "m", [:], logger: "host", time: Timestamp(microseconds: 0))
        let node = try JSONParser.parse(Array(line.utf8.dropLast()))
        #expect(node["severity"]?.text == severity)
    }

    @Test func whatIsSaidStaysInItsLine() throws {
        let line = CloudLogHandler.line(
            .info, "two\nlines \u{1} \"é\"", ["a.b": "\\", "logger": "its own"], logger: "host",
            time: Timestamp(microseconds: 1_500_000))
        #expect(line.split(separator: "\n").count == 1)
        let node = try JSONParser.parse(Array(line.utf8.dropLast()))
        #expect(node["message"]?.text == "two\nlines \u{1} \"é\"")
        #expect(node["time"]?.text == "1970-01-01T00:00:01.500Z")
        #expect(node["logging.googleapis.com/labels"]?["a.b"]?.text == "\\")
        #expect(node["logging.googleapis.com/labels"]?["logger"]?.text == "its own")
    }
}
