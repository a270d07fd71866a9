import DocumentModel
@testable import HostProcess
import StrictJSON
@testable import TokenVerification
import Logging
import Testing
import WorkerProtocol

@Suite struct CloudLogHandlerTests {
    @Test(arguments: [
        (Logger.Level.trace, "DEBUG"), (.info, "INFO"), (.notice, "NOTICE"), (.warning, "WARNING"), (.error, "ERROR"),
        (.critical, "CRITICAL"),
    ])
    func severitiesAreThoseOfCloudLogging(level: Logger.Level, severity: String) throws {
        let line = CloudLogHandler.line(level, "m", [:], logger: "host", time: Timestamp(microseconds: 0))
        let node = try JSONNode(parsing: Array(line.utf8.dropLast()))
        #expect(node["severity"]?.text == severity)
    }

    @Test func messagesAreEscapedToOneLine() throws {
        let line = CloudLogHandler.line(
            .info, "two\nlines \u{1} \"é\"", ["a.b": "\\", "logger": "its own"], logger: "host",
            time: Timestamp(microseconds: 1_500_000))
        #expect(line.split(separator: "\n").count == 1)
        let node = try JSONNode(parsing: Array(line.utf8.dropLast()))
        #expect(node["message"]?.text == "two\nlines \u{1} \"é\"")
        #expect(node["time"]?.text == "1970-01-01T00:00:01.500Z")
        #expect(node["logging.googleapis.com/labels"]?["a.b"]?.text == "\\")
        #expect(node["logging.googleapis.com/labels"]?["logger"]?.text == "its own")
    }

    /// Cloud Logging would split a longer line in two, of which neither is valid JSON.
    @Test(arguments: ["x", "\u{1}", "\"", "é"])
    func anEntryIsCompleteAndWithinTheLimits(character: String) throws {
        let text = String(repeating: character, count: 16_384)
        let metadata = Dictionary(uniqueKeysWithValues: (0..<100).map { ("key\($0)", $0 % 2 == 0 ? text : "short") })
        for metadata in [metadata, metadata.mapValues { _ in "short" }] {
            let line = CloudLogHandler.line(
                .info, text, metadata, logger: "shop", time: Timestamp(microseconds: 0))
            #expect(line.utf8.count <= 240 * 1024 + 16)
            let labels = try #require(
                try JSONNode(parsing: Array(line.utf8.dropLast()))["logging.googleapis.com/labels"])
            #expect(labels["logger"]?.text == "shop")
            let count = metadata.keys.count { labels[$0] != nil } + 1
            #expect(count <= 64)
            if metadata["key0"] == "short" { #expect(count == 64) }
        }
    }

    @Test func aRecordsFieldsAreLabels() throws {
        let record = LogRecord(
            time: Timestamp(microseconds: 0), level: .warning, function: "shop", message: "call", execution: "x1",
            fields: ["status": "DEADLINE_EXCEEDED", "duration.ms": .number(1000.25)])
        let node = try JSONNode(parsing: Array(CloudLogHandler.line(record).utf8.dropLast()))
        let labels = try #require(node["logging.googleapis.com/labels"])
        #expect(node["severity"]?.text == "WARNING" && node["message"]?.text == "call")
        #expect(labels["logger"]?.text == "shop" && labels["execution.id"]?.text == "x1")
        #expect(labels["status"]?.text == "DEADLINE_EXCEEDED" && labels["duration.ms"]?.text == "1000.25")
    }

    @Test func lineWithoutALoggerIsJSON() throws {
        let node = try JSONNode(parsing: Array(CloudLogHandler.line(.warning, "lost").utf8.dropLast()))
        #expect(node["severity"]?.text == "WARNING")
        #expect(node["message"]?.text == "lost")
    }
}
