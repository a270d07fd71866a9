import DocumentModel
@testable import FirestoreClient
import OutboundHTTP
import Testing

struct RemoteDocumentsTests {
    private static let root = ScriptedFirestore.root

    private static func document(_ path: String) -> String {
        #"{"name":"\#(root)/\#(path)","fields":{},"createTime":"\#(ScriptedFirestore.time)","#
            + #""updateTime":"\#(ScriptedFirestore.time)"}"#
    }

    /// - Returns: the paths of all documents, of which the service's answers are the script.
    private func all(_ steps: [ScriptedService.Step]) async throws -> [String] {
        let script = ScriptedService(steps)
        var documents = RemoteDocuments(at: "h:1", project: "demo-shop", transport: script, pause: { _ in })
        var found: [String] = []
        while let page = try await documents.next() { found += page.map(\.path.string) }
        #expect(script.isDone)
        #expect(script.seen.allSatisfy { $0.headers["Authorization"] == "Bearer owner" })
        return found
    }

    @Test func queriesReadAllAsOfOneTime() async throws {
        func page(_ paths: [String], _ time: String) -> String {
            let elements = paths.map { #"{"document":\#(Self.document($0)),"readTime":"\#(time)"}"# }
            return "[\((elements + [#"{"readTime":"\#(time)"}"#]).joined(separator: ","))]"
        }
        let (first, later) = ("2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:09Z")
        let start = #""startAt":{"values":[{"referenceValue":"\#(Self.root)/a/b/c/d"}]}"#
        let found = try await all([
            .init("/documents:runQuery", with: #""from":[{"allDescendants":true}]"#, page(["a/1", "a/b/c/d"], first)),
            .failure("/documents:runQuery", .tooLarge), .failure("/documents:runQuery", .lost),
            .init("/documents:runQuery", with: start, page(["z/1"], later)),
            .init("/documents:runQuery", with: #""limit":500},"readTime":"\#(first)""#, page([], later)),
        ])
        #expect(found == ["a/1", "a/b/c/d", "z/1"])
    }
}
