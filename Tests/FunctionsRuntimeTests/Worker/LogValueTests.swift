@testable import FunctionsRuntime
import Logging
import Testing
import WorkerProtocol

/// The metadata of a function's lines, as it is sent to the host.
struct LogValueTests {
    @Test func dictionariesAndArraysKeepTheirStructure() {
        let value: Logger.MetadataValue = ["id": "7", "items": ["a", ["n": .stringConvertible(2)]]]
        #expect(LogValue(value) == .members(["id": "7", "items": .list(["a", .members(["n": "2"])])]))
        #expect(LogValue(.string("plain")) == "plain")
        #expect(LogValue(.stringConvertible(2)) == "2")
    }

    /// They could fill the link's frames, or exhaust the host's stack.
    @Test func whatIsTooLargeOrTooDeepIsText() {
        let large: Logger.MetadataValue = ["text": .string(String(repeating: "x", count: LogLine.maxText))]
        #expect(LogValue(large).text?.isEmpty == false)
        let many = Logger.MetadataValue.array(Array(repeating: [], count: 100_000))
        #expect(LogValue(many).text?.isEmpty == false)
        let deep = (0..<50).reduce("x" as Logger.MetadataValue) { value, _ in [value] }
        #expect(LogValue(deep).text?.isEmpty == false)
    }
}
