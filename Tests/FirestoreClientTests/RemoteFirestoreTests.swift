import DocumentModel
@testable import HostProcess
@testable import FirestoreClient
import OutboundHTTP
import Testing

/// The requests that single operations send to a remote service, and how they read the responses.
struct RemoteFirestoreTests {
    private typealias Step = ScriptedService.Step
    private static let time = ScriptedFirestore.time

    private func perform<Answer>(
        _ operation: (RemoteFirestore) async throws(DocumentError) -> Answer, _ steps: ScriptedService.Step...
    ) async -> Result<Answer, DocumentError> {
        let scripted = ScriptedFirestore(steps)
        let answer = await outcome { () throws(DocumentError) in try await operation(scripted.firestore) }
        #expect(scripted.script.isDone)
        return answer
    }

    private static func found(_ path: String) -> String {
        #"{"name":"\#(ScriptedFirestore.root)/\#(path)","createTime":"\#(time)","updateTime":"\#(time)"}"#
    }

    private static func document(_ path: String) throws -> Document {
        let time = Timestamp(microseconds: 1_000_001)
        return Document(path: try DocumentPath(path), fields: [:], createTime: time, updateTime: time)
    }

    @Test func documentsAreReturnedInTheOrderOfTheRequest() async throws {
        let paths = try ["c/a", "c/b", "c/a", "c/c"].map { try DocumentPath($0) }
        let response = await perform(
            { (store) throws(DocumentError) in try await store.get(paths, .at(Timestamp(microseconds: 5))) },
            Step(
                ":batchGet", with: #","readTime":"1970-01-01T00:00:00.000005Z"}"#,
                """
                [{"found":\(Self.found("c/c")),"readTime":"\(Self.time)"},
                 {"missing":"\(ScriptedFirestore.root)/c/b","readTime":"\(Self.time)"},
                 {"found":\(Self.found("c/a")),"readTime":"\(Self.time)"}]
                """))
        let (a, c) = (try Self.document("c/a"), try Self.document("c/c"))
        #expect(
            try response.get()
                == DocumentsAnswer(documents: [a, nil, a, c], readTime: Timestamp(microseconds: 1_000_001)))
    }

    @Test func aDocumentMissingFromTheResponseIsAnError() async throws {
        let path = try DocumentPath("c/a")
        let response = await perform(
            { (store) throws(DocumentError) in try await store.get([path]) }, Step(":batchGet", "[]"))
        #expect(
            response
                == .failure(
                    DocumentError(
                        .internal,
                        "the response of the document service is invalid: \"c/a\" was requested and is missing")
                ))
    }

    @Test func emptyRequestsAreAnsweredWithoutTheService() async throws {
        let now = Timestamp(microseconds: 9_000_000)
        let read = await perform { (store) throws(DocumentError) in try await store.get([]) }
        #expect(try read.get() == DocumentsAnswer(documents: [], readTime: now))
        let written = await perform { (store) throws(DocumentError) in try await store.batchWrite([]) }
        #expect(try written.get().isEmpty)
    }

    private static func search() throws -> VectorSearch {
        try VectorSearch(
            field: FieldPath("v"), vector: [1, 0.5], measure: .cosine, limit: 3, resultField: "d", threshold: 0.25)
    }

    @Test func aVectorSearchIsPartOfItsQuery() async throws {
        let search = try Self.search()
        let vector = #"{"arrayValue":{"values":[{"doubleValue":1.0},{"doubleValue":0.5}]}}"#
        let response = await perform(
            { (store) throws(DocumentError) in
                try await store.nearest(search, of: Query(collectionID: "c"), .at(Timestamp(microseconds: 5)))
            },
            Step(
                ":runQuery",
                with: #"{"structuredQuery":{"from":[{"collectionId":"c"}],"findNearest":{"vectorField":"#
                    + #"{"fieldPath":"v"},"queryVector":{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},"#
                    + #""value":\#(vector)}}},"distanceMeasure":"COSINE","limit":3,"distanceResultField":"d","#
                    + #""distanceThreshold":0.25}},"readTime":"1970-01-01T00:00:00.000005Z"}"#,
                #"[{"document":\#(Self.found("c/b")),"readTime":"\#(Self.time)"},{"document":\#(Self.found("c/a"))}]"#))
        let (a, b) = (try Self.document("c/a"), try Self.document("c/b"))
        #expect(try response.get() == QueryAnswer(documents: [b, a], readTime: Timestamp(microseconds: 1_000_001)))
    }

    @Test func aVectorSearchMayBeInATransaction() async throws {
        let search = try Self.search()
        let response = await perform(
            { (store) throws(DocumentError) in
                guard case .began(let id, _) = try await store.begin() else {
                    throw DocumentError(.internal, "it hasn't begun")
                }
                return try await store.nearest(search, of: Query(collectionID: "c"), .transaction(id))
            },
            Step(":beginTransaction", #"{"transaction":"AQ=="}"#),
            Step(":runQuery", with: #","distanceThreshold":0.25}},"transaction":"AQ=="}"#, "[]"))
        #expect(try response.get().documents.isEmpty)
    }

    private static func listing(_ query: String, _ answer: String) -> Step {
        Step(
            address: "/v1/\(ScriptedFirestore.root)/\(query)", body: nil,
            answer: .success(OutboundResponse(status: 200, body: Array(answer.utf8))))
    }

    @Test func aPageOfDocumentsIsListedWithThoseThatAreMissing() async throws {
        let page = DocumentListing(try CollectionPath("a b/ü/c"), token: "x+/=", limit: 2)
        let root = "\(ScriptedFirestore.root)/a b/ü/c"
        let response = await perform(
            { (store) throws(DocumentError) in try await store.list(page) },
            Self.listing(
                "a%20b/%C3%BC/c?pageSize=2&showMissing=true&mask.fieldPaths=__name__&pageToken=x%2B/%3D",
                #"{"documents":[{"name":"\#(root)/d","createTime":"\#(Self.time)"},{"name":"\#(root)/e"}],"#
                    + #""nextPageToken":"y"}"#))
        #expect(try response.get() == ListingAnswer(ids: ["d", "e"], next: "y"))
        let last = await perform(
            { (store) throws(DocumentError) in try await store.list(DocumentListing(page.collection)) },
            Self.listing("a%20b/%C3%BC/c?pageSize=1000&showMissing=true&mask.fieldPaths=__name__", "{}"))
        #expect(try last.get() == ListingAnswer(ids: [], next: nil))
    }

    @Test(arguments: ["c/a/d/b", "d/a", "c2/a"])
    func aListedDocumentOfAnotherCollectionIsAnError(path: String) async throws {
        let page = DocumentListing(try CollectionPath("c"))
        let response = await perform(
            { (store) throws(DocumentError) in try await store.list(page) },
            Self.listing(
                "c?pageSize=1000&showMissing=true&mask.fieldPaths=__name__",
                #"{"documents":[{"name":"\#(ScriptedFirestore.root)/\#(path)"}]}"#))
        let error = #expect(throws: DocumentError.self) { try response.get() }
        #expect(error?.code == .internal)
    }

    @Test func aPathInTheAddressIsEncoded() async throws {
        var query = Query(parent: try DocumentPath("a b/ü:%?#"), collectionID: "c")
        query.limit = 1
        _ = await perform(
            { [query] (store) throws(DocumentError) in try await store.query(query) },
            Step("documents/a%20b/%C3%BC%3A%25%3F%23:runQuery", with: #"{"collectionId":"c"}"#, "[]"))
    }

    @Test func eachWriteOfABatchHasItsOwnResult() async throws {
        let writes = [
            Write(path: try DocumentPath("c/a"), operation: .set([:])),
            Write(path: try DocumentPath("c/b"), operation: .set([:]), precondition: .exists(false)),
        ]
        let response = await perform(
            { (store) throws(DocumentError) in try await store.batchWrite(writes) },
            Step(
                ":batchWrite",
                #"{"writeResults":[{"updateTime":"\#(Self.time)"},{}],"status":[{},{"code":6,"message":"there"}]}"#))
        let written = WriteResult(updateTime: Timestamp(microseconds: 1_000_001), transformResults: [])
        #expect(try response.get() == [.success(written), .failure(DocumentError(.alreadyExists, "there"))])
    }

    @Test func allPagesOfAPartitionAreRead() async throws {
        func page(_ path: String, _ token: String) -> String {
            let value = #"{"referenceValue":"\#(ScriptedFirestore.root)/\#(path)"}"#
            return #"{"partitions":[{"values":[\#(value)],"before":true}],"nextPageToken":"\#(token)"}"#
        }
        let query = Query(collectionID: "c", allDescendants: true)
        let response = await perform(
            { (store) throws(DocumentError) in try await store.partition(query, points: 3) },
            Step(":partitionQuery", with: #""partitionCount":"3"}"#, page("c/z", "more")),
            Step(":partitionQuery", with: #""pageToken":"more""#, page("c/b", "")))
        let paths = [try DocumentPath("c/b"), try DocumentPath("c/z")]
        #expect(try response.get() == PartitionAnswer(points: paths, readTime: Timestamp(microseconds: 9_000_000)))
    }

    @Test func aPageWithoutPartitionsIsTheLast() async throws {
        let response = await perform(
            { (store) throws(DocumentError) in try await store.partition(Query(collectionID: "c"), points: 3) },
            Step(":partitionQuery", #"{"nextPageToken":"more"}"#))
        #expect(try response.get().points.isEmpty)
    }

    @Test func aggregatesAreReadByTheirAliases() async throws {
        let fields: [AggregateField] = [.count(upTo: nil), .sum(FieldPath(segments: ["n"]))]
        let response = await perform(
            { (store) throws(DocumentError) in try await store.aggregate(Query(collectionID: "c"), fields) },
            Step(
                ":runAggregationQuery",
                """
                [{"result":{"aggregateFields":{"field_2":{"doubleValue":1.5},"field_1":{"integerValue":"2"}}},
                  "readTime":"\(Self.time)"}]
                """))
        #expect(
            try response.get()
                == AggregateAnswer(values: [.integer(2), .double(1.5)], readTime: Timestamp(microseconds: 1_000_001)))
    }

    @Test func anExplanationComesWithTheResults() async throws {
        let response = await perform(
            { (store) throws(DocumentError) in try await store.explain(Query(collectionID: "c"), analyze: true) },
            Step(
                ":runQuery", with: #""explainOptions":{"analyze":true}}"#,
                """
                [{"document":\(Self.found("c/a")),"readTime":"\(Self.time)"},
                 {"explainMetrics":{"planSummary":{"indexesUsed":[{"query_scope":"Collection",
                  "properties":"(__name__ ASC)"}]},"executionStats":{"resultsReturned":"1","executionDuration":"0.002s",
                  "readOperations":"1","debugStats":{"index_entries_scanned":"4","documents_scanned":"3","other":{}}}}}]
                """))
        let explanation = QueryExplanation(
            indexes: [.init(scope: "Collection", properties: "(__name__ ASC)")], steps: [],
            cost: .init(documentsReturned: 1, indexEntriesRead: 4, documentsRead: 3, microseconds: 2000))
        #expect(
            try response.get()
                == ExplainAnswer(
                    explanation: explanation, documents: [try Self.document("c/a")], values: [],
                    readTime: Timestamp(microseconds: 1_000_001)))
    }

    @Test(arguments: [
        (#""index_entries_scanned":"-1""#, "0.002s"), (#""documents_scanned":"9223372036854775807""#, "0.002s"),
        (#""documents_scanned":"1""#, "-0.002s"),
    ])
    func anExplanationWithACostThatNothingHasIsAnError(counts: String, duration: String) async throws {
        let response = await perform(
            { (store) throws(DocumentError) in try await store.explain(Query(collectionID: "c"), analyze: true) },
            Step(
                ":runQuery",
                """
                [{"explainMetrics":{"planSummary":{},"executionStats":{"resultsReturned":"1",
                  "executionDuration":"\(duration)","debugStats":{\(counts)}}}}]
                """))
        #expect(throws: DocumentError.self) { try response.get() }
    }

    @Test func aServiceWithoutExplanationsIsAnError() async throws {
        let response = await perform(
            { (store) throws(DocumentError) in try await store.explain(Query(collectionID: "c"), analyze: false) },
            Step(":runQuery", "[]"))
        #expect(
            response
                == .failure(DocumentError(.unimplemented, "the document service doesn't support explaining queries")))
    }

    @Test(arguments: ["127.0.0.1:8080", "localhost:1", "[::1]:65535", "emulator_1.local:80"])
    func anEmulatorIsNamedByHostAndPort(_ host: String) throws {
        let firestore = try RemoteFirestore.fromEnvironment(
            project: "p", environment: ["FIRESTORE_EMULATOR_HOST": host])
        #expect(firestore.service.origin == "http://\(host)")
        #expect(firestore.service.tokens == nil)
    }

    @Test(arguments: [
        "localhost", ":8080", "localhost:", "localhost:0", "localhost:99999", "http://h:1/", "a b:1", "h:1/x",
    ])
    func anInvalidEmulatorAddressStopsTheStart(_ host: String) {
        #expect(throws: HostError.self) {
            try RemoteFirestore.fromEnvironment(project: "p", environment: ["FIRESTORE_EMULATOR_HOST": host])
        }
    }

    @Test func withoutAnEmulatorItIsCloudFirestore() throws {
        let firestore = try RemoteFirestore.fromEnvironment(project: "p", environment: ["FIRESTORE_EMULATOR_HOST": ""])
        #expect(firestore.service.origin == "https://firestore.googleapis.com")
        #expect(firestore.service.tokens != nil)
        #expect(firestore.database == DatabaseID(project: "p"))
    }
}
