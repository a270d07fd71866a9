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

    private static func missing(_ path: String) -> String { #"{"name":"\#(root)/\#(path)"}"# }

    private static func list(_ address: String, _ documents: [String], next: String? = nil) -> ScriptedService.Step {
        let token = next.map { #","nextPageToken":"\#($0)""# } ?? ""
        return ScriptedService.Step(
            address: address, body: nil,
            answer: .success(
                OutboundResponse(
                    status: 200, body: Array(#"{"documents":[\#(documents.joined(separator: ","))]\#(token)}"#.utf8))))
    }

    private static func failed(_ address: String, _ kind: OutboundError.Kind) -> ScriptedService.Step {
        .init(address: address, body: nil, answer: .failure(OutboundError(kind, host: "h", "why")))
    }

    /// A service that has no query over the collections of all names.
    private static let refusal = ScriptedService.Step(
        "/documents:runQuery", status: 400,
        #"{"error":{"code":400,"message":"name one collection","status":"INVALID_ARGUMENT"}}"#)

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

    @Test func eachPageIsReadWithWhatIsBelowItsNames() async throws {
        let found = try await all([
            Self.refusal, .init("documents:listCollectionIds", #"{"collectionIds":["a"],"nextPageToken":"t"}"#),
            .init("documents:listCollectionIds", with: #""pageToken":"t""#, #"{"collectionIds":["b%"]}"#),
            Self.list("/documents/a?pageSize=300&showMissing=true", [Self.missing("a/m")], next: "n/"),
            .init("/documents/a/m:listCollectionIds", #"{"collectionIds":["s"]}"#),
            Self.list("/documents/a/m/s?pageSize=300&showMissing=true", [Self.document("a/m/s/x")]),
            .init("/documents/a/m/s/x:listCollectionIds", "{}"),
            Self.list("/documents/a?pageSize=300&showMissing=true&pageToken=n/", [Self.document("a/z")]),
            .init("/documents/a/z:listCollectionIds", "{}"),
            Self.list("/documents/b%25?pageSize=300&showMissing=true", [Self.document("b%/d")]),
            .init("/documents/b%25/d:listCollectionIds", "{}"),
        ])
        #expect(found == ["a/m/s/x", "a/z", "b%/d"])
    }

    @Test func aPageThatIsTooLargeIsReadInSmallerOnes() async throws {
        var steps: [ScriptedService.Step] = [
            Self.refusal, .init("documents:listCollectionIds", #"{"collectionIds":["a"]}"#),
        ]
        for size in [300, 150, 75, 37, 18, 9, 4, 2] {
            steps.append(Self.failed("a?pageSize=\(size)&showMissing=true", .tooLarge))
        }
        steps += [
            Self.list("a?pageSize=1&showMissing=true", [Self.document("a/1")], next: "n"),
            .init("/a/1:listCollectionIds", "{}"),
            Self.list("a?pageSize=1&showMissing=true&pageToken=n", [Self.document("a/2")]),
            .init("/a/2:listCollectionIds", "{}"),
        ]
        #expect(try await all(steps) == ["a/1", "a/2"])
    }

    @Test func aLostConnectionIsTriedAgain() async throws {
        let found = try await all([
            .failure("documents:runQuery", .lost), Self.refusal, .failure("documents:listCollectionIds", .lost),
            .init("documents:listCollectionIds", #"{"collectionIds":["a"]}"#),
            Self.failed("a?pageSize=300&showMissing=true", .lost),
            Self.failed("a?pageSize=300&showMissing=true", .notSent),
            Self.list("a?pageSize=300&showMissing=true", [Self.document("a/1")]),
            .failure("/a/1:listCollectionIds", .lost),
            .init("/a/1:listCollectionIds", "{}"),
        ])
        #expect(found == ["a/1"])
        await #expect(throws: DocumentError.self) {
            _ = try await all([
                Self.refusal, .init("documents:listCollectionIds", #"{"collectionIds":["a"]}"#),
                Self.failed("a?pageSize=300&showMissing=true", .lost),
                Self.failed("a?pageSize=300&showMissing=true", .lost),
                Self.failed("a?pageSize=300&showMissing=true", .lost),
            ])
        }
    }
}
