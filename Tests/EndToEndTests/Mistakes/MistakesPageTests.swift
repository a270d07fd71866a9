import Foundation
import FunctionsRuntime
import FunctionsTesting
import HostConfiguration
import TestSupport
import Testing

/// Each mistake of Docs/mistakes.md has the message that stands beside it.
@Suite(.endsHangs) struct MistakesPageTests {
    private struct Order: Codable, Sendable {
        struct Item: Codable, Sendable { var quantity: Int }
        var name: String
        var items: [Item]
    }

    private struct Orders: FunctionBundle {
        var functions: [Function] { onCall("order") { (request: CallableRequest<Order>) in request.data.name } }
    }

    /// The rows of a section: a mistake, and its message with `…` for any text.
    private static func rows(_ section: String) throws -> [(mistake: String, message: String)] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "Docs/mistakes.md"), encoding: .utf8)
        let sections = page.components(separatedBy: "\n## ")
        let text = try #require(sections.first { $0.hasPrefix(section) })
        let rows = text.split(separator: "\n").compactMap { line in
            line.wholeMatch(of: /\| `(.*)` \| (.*) \|/).map { (mistake: String($0.1), message: String($0.2)) }
        }
        try #require(rows.count > 3)
        return rows
    }

    private static func matches(_ text: String, _ pattern: String) -> Bool {
        var rest = Substring(text)
        for part in pattern.components(separatedBy: "…") where !part.isEmpty {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return true
    }

    @Test func theCompilerSaysWhatIsWrong() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let rows = try Self.rows("In Swift")
        for (number, row) in rows.enumerated() {
            let code = """
                import FunctionsRuntime
                private struct Mistaken\(number): FunctionBundle { var functions: [Function] {
                \(row.mistake)
                } }

                """
            try Data(code.utf8).write(to: directory.appending(path: "mistake\(number).swift"))
        }
        let errors = try await Compiler.errors(in: rows.indices.map { "mistake\($0).swift" }, of: directory)
        for (number, row) in rows.enumerated() {
            let first = errors.first { $0.contains("mistake\(number).swift:") } ?? "nothing"
            #expect(first.contains("mistake\(number).swift:3:"), "\(first)")
            #expect(Self.matches(first, row.message), "\(row.mistake): \(first)")
        }
    }

    private struct Started: FunctionBundle {
        var functions: [Function]

        init() { functions = [] }
        init(_ function: Function) { functions = [function] }
    }

    @Test func aBundleSaysWhatIsWrong() throws {
        let mistaken: [Function] = [
            onCall("my function") { (request: CallableRequest<Int>) in 1 },
            onCall("a", .timeout(.hours(2))) { (request: CallableRequest<Int>) in 1 },
            onDocumentCreated("a", document: "users") { event in },
            onSchedule("a", schedule: "every 61 foos") { event in },
            onRequest(routing: "a") { routes in routes.get("items/{id") { request in .text("x") } },
            onRequest("a", .cors(.origins("shop.example"))) { request in .text("x") },
        ]
        let rows = try Self.rows("In a bundle")
        try #require(rows.count == mistaken.count)
        for (row, function) in zip(rows, mistaken) {
            do {
                _ = try FunctionsTester(Started(function))
                Issue.record("\(row.mistake) is accepted")
            } catch {
                #expect(Self.matches("\(error)", row.message), "\(row.mistake): \(error)")
            }
        }
    }

    @Test func theConfigurationSaysWhatIsWrong() async throws {
        for row in try Self.rows("In functions.json") {
            let directory = try HostDirectory()
            try directory.write(row.mistake, to: "functions.json")
            do {
                _ = try HostConfiguration.load(directory.path + "/functions.json", environment: nil)
                Issue.record("\(row.mistake) is accepted")
            } catch {
                #expect(Self.matches("\(error)", row.message), "\(row.mistake): \(error)")
            }
        }
    }

    @Test func dataSaysWhatIsWrong() async throws {
        let tester = try FunctionsTester(Orders())
        for row in try Self.rows("In data") {
            let data = try JSONValue(parsing: Array(row.mistake.utf8))
            let error = await #expect(throws: HttpsError.self) {
                let _: String = try await tester.call("order", data)
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message == row.message, "\(row.mistake)")
        }
    }
}
