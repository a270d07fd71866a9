import CommitPipeline
import DocumentModel
import DocumentStore
@testable import FirestoreAPI
import FirestoreMessages
import SecurityRules
import StorageEngine
import SwiftProtobuf
import Testing

/// The gRPC methods on documents, on a store.
@Suite struct GRPCDocumentsTests {
    private static let database = DatabaseID(project: "demo")
    private let store: DocumentStore
    private let calls: FirestoreCalls

    init() throws {
        store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        try store.start()
        let rules = ClientRules(.open)
        calls = FirestoreCalls(
            store, database: Self.database,
            service: StoreDocumentService(store, database: Self.database, rules: rules), rules: rules,
            principals: PrincipalReader(
                isDevelopment: true, known: { _ in nil }, verify: { _ in Requester(.admin) }))
    }

    @Test func anInvalidMaskOfTheAnswerLeavesNothingWritten() async throws {
        let mask = FSDocumentMask.with { $0.fieldPaths = ["a..b"] }
        let create = FSCreateDocumentRequest.with {
            $0.parent = Self.database.documentsRoot
            $0.collectionID = "c"
            $0.documentID = "created"
            $0.mask = mask
        }
        let update = FSUpdateDocumentRequest.with {
            $0.document.name = Self.database.documentsRoot + "/c/updated"
            $0.mask = mask
        }
        await #expect(throws: DocumentError.self) { try await calls.create(create, .admin) }
        await #expect(throws: DocumentError.self) { try await calls.update(update, .admin) }
        let paths = [try DocumentPath("c/created"), try DocumentPath("c/updated")]
        let found = try await calls.service.get(paths, .strong, as: .admin).documents
        #expect(found == [nil, nil])
        await store.shutdown()
    }

    @Test func aNameThatIsRepeatedIsAnsweredOnce() throws {
        let names = ["c/b", "c/a", "c/b", "c/x", "c/a"].map { "\(Self.database.documentsRoot)/\($0)" }
        #expect(try calls.reader.paths(names).map(\.string) == ["c/b", "c/a", "c/x"])
    }
}
