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

    init() throws { try self.init(StoreConfiguration()) }

    private init(_ configuration: StoreConfiguration) throws {
        store = try DocumentStore(
            on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }), configuration: configuration)
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

    /// So Node's and Python's libraries list the references of a collection, in pages as large as they may be.
    @Test func fieldsThatAreNotAskedForDontCountInAListing() async throws {
        var configuration = StoreConfiguration()
        configuration.maxReadBytes = 20_000
        let small = try Self(configuration)
        let text = Value.string(String(repeating: "x", count: 10_000))
        for (number, id) in ["b", "c", "a"].enumerated() {
            let fields = ["text": text, "n": Value.integer(Int64(number))]
            let write = Write(path: try DocumentPath("c/\(id)"), operation: .set(fields))
            _ = try await small.calls.service.commit([write], transaction: nil, as: .admin)
        }
        let all = FSListDocumentsRequest.with {
            $0.parent = Self.database.documentsRoot
            $0.collectionID = "c"
            $0.pageSize = 65_535
            $0.showMissing = true
        }
        // Two of them are larger than one answer.
        let page = try await small.calls.list(all, .admin)
        #expect(page.documents.count == 1)
        #expect(!page.nextPageToken.isEmpty)
        var names = all
        names.mask = FSDocumentMask()
        let listed = try await small.calls.list(names, .admin).documents
        #expect(listed.map(\.name) == ["a", "b", "c"].map { "\(Self.database.documentsRoot)/c/\($0)" })
        let lackFields = listed.allSatisfy { $0.fields.isEmpty && $0.hasUpdateTime }
        #expect(lackFields)
        // Pages go on in an order by a field.
        names.showMissing = false
        names.orderBy = "n"
        names.pageSize = 2
        let first = try await small.calls.list(names, .admin)
        names.pageToken = first.nextPageToken
        let second = try await small.calls.list(names, .admin)
        let ordered = (first.documents + second.documents).map { String($0.name.suffix(1)) }
        #expect(ordered == ["b", "c", "a"])
        #expect(second.nextPageToken.isEmpty)
        await small.store.shutdown()
        await store.shutdown()
    }

    /// It has names to be ordered by, but is listed in one order of them only.
    @Test(arguments: ["n", "__name__ desc"]) func aListingWithMissingDocumentsHasOneOrder(order: String) async throws {
        let request = FSListDocumentsRequest.with {
            $0.parent = Self.database.documentsRoot
            $0.collectionID = "c"
            $0.showMissing = true
            $0.orderBy = order
        }
        let error = DocumentError.invalidArgument(
            "with showMissing, documents are listed by their names, ascending; omit orderBy")
        await #expect(throws: error) { try await calls.list(request, .admin) }
        await store.shutdown()
    }

    @Test func aPageOfLargeDocumentsIsShorter() async throws {
        var configuration = StoreConfiguration()
        configuration.maxReadBytes = 50_000
        let small = try Self(configuration)
        let text = Value.string(String(repeating: "x", count: 20_000))
        for id in ["a", "b", "d"] {
            let write = Write(path: try DocumentPath("c/\(id)"), operation: .set(["text": text]))
            _ = try await small.calls.service.commit([write], transaction: nil, as: .admin)
        }
        for id in ["aa", "c", "e"] {
            let write = Write(path: try DocumentPath("c/\(id)/below/x"), operation: .set([:]))
            _ = try await small.calls.service.commit([write], transaction: nil, as: .admin)
        }
        for (showsMissing, expected) in [(false, ["a", "b", "d"]), (true, ["a", "aa", "b", "c", "d", "e"])] {
            var request = FSListDocumentsRequest.with {
                $0.parent = Self.database.documentsRoot
                $0.collectionID = "c"
                $0.showMissing = showsMissing
            }
            var listed: [String] = []
            repeat {
                let page = try await small.calls.list(request, .admin)
                #expect(page.documents.count < expected.count)
                listed += page.documents.map { String($0.name.split(separator: "/").last ?? "") }
                request.pageToken = page.nextPageToken
            } while !request.pageToken.isEmpty && listed.count < 10
            #expect(listed == expected)
        }
        await small.store.shutdown()
        await store.shutdown()
    }
}
