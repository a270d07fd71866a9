import DocumentModel
import WorkerProtocol
import FunctionsRuntime
import Testing

@Suite struct AggregateQueryTests {
    private func answered(_ values: [Value]) -> ScriptedTransport {
        ScriptedTransport([.aggregated(values, readTime: DocumentResponse.time)])
    }

    @Test func countsAndSumsAreAskedOfTheStore() async throws {
        let transport = answered([3, .double(1.5), .null])
        let users = Firestore(transport: transport).collection("users")
        let snapshot = try await users.whereField("a", isEqualTo: 1)
            .aggregate([.count(), .sum("m.x"), .average("y")]).getAggregation()
        #expect(snapshot.count == 3)
        #expect(snapshot.get(.sum("m.x")) == .double(1.5))
        #expect(snapshot.get(.average("y")) == .null)
        #expect(snapshot.double(.sum("m.x")) == 1.5 && snapshot.double(.count()) == 3)
        #expect(snapshot.double(.average("y")) == nil && snapshot.get(.sum("y")) == nil)
        var query = DocumentModel.Query(collectionID: "users")
        query.filter = .field(try FieldPath("a"), .equal, 1)
        let fields: [DocumentModel.AggregateField] = [
            .count(upTo: nil), .sum(try FieldPath("m.x")), .average(try FieldPath("y")),
        ]
        #expect(transport.requests == [.aggregate(query, fields, .strong)])
    }

    @Test func aTransactionCountsWhatItSees() async throws {
        let transport = ScriptedTransport([
            .began(1), .aggregated([2], readTime: DocumentResponse.time), .committed(0),
        ])
        let count = try await Firestore(transport: transport).runTransaction { transaction in
            try await transaction.getAggregation(transaction.firestore.collectionGroup("orders").count).count
        }
        #expect(count == 2)
        let query = DocumentModel.Query(collectionID: "orders", allDescendants: true)
        #expect(
            transport.requests[1]
                == .aggregate(query, [.count(upTo: nil)], .transaction(TransactionID(rawValue: 1))))
    }

    @Test func whatCannotBeAggregatedIsRefused() async throws {
        let users = Firestore(transport: ScriptedTransport()).collection("users")
        for query in [
            users.aggregate([]), users.aggregate([.count(), .count()]), users.aggregate([.sum("a..b")]),
            users.aggregate((0..<6).map { .sum("f\($0)") }), users.limit(to: 0).count,
        ] {
            let error = await #expect(throws: DocumentError.self) { try await query.getAggregation() }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func explanationsComeWithTheSnapshotOfWhatWasRun() async throws {
        let explanation = QueryExplanation(indexes: [], steps: ["a step"], cost: .init(documentsReturned: 2))
        let first = try stored("a/1", ["n": 1])
        let second = try stored("a/2", ["n": 2])
        let transport = ScriptedTransport([
            .explained(explanation, results: [second, first], values: [], readTime: DocumentResponse.time),
            .explained(explanation, results: [], values: [], readTime: DocumentResponse.time),
            .explained(explanation, results: [], values: [2], readTime: DocumentResponse.time),
        ])
        let query = Firestore(transport: transport).collection("a").order(by: "n").limit(toLast: 2)
        let analyzed = try await query.explain(analyze: true)
        #expect(analyzed.metrics == explanation)
        #expect(analyzed.snapshot?.documents.map(\.documentID) == ["1", "2"])
        #expect(try await query.explain().snapshot == nil)
        #expect(try await query.count.explain(analyze: true).snapshot?.count == 2)
    }

    @Test func partitionsCoverTheQueryOnce() async throws {
        let paths = try ["x/1/c/b", "x/1/c/d"].map { try DocumentPath($0) }
        let transport = ScriptedTransport([.partitioned(paths, readTime: DocumentResponse.time)])
        let firestore = Firestore(transport: transport)
        let parts = try await firestore.collectionGroup("c").getPartitions(3).map { try $0.resolved().model }
        var whole = DocumentModel.Query(collectionID: "c", allDescendants: true)
        whole.orderBy = [.init(.documentID)]
        #expect(transport.requests == [.partition(whole, points: 2, .strong)])
        let points = paths.map { path in
            DocumentModel.Query.Cursor(
                values: [.reference(DocumentName(database: transport.database, path: path))], before: true)
        }
        #expect(parts.map(\.start) == [nil, points[0], points[1]])
        #expect(parts.map(\.end) == [points[0], points[1], nil])
        #expect(try await firestore.collectionGroup("c").getPartitions(1).count == 1)
        await #expect(throws: DocumentError.self) { try await firestore.collectionGroup("c").getPartitions(0) }
    }

    @Test func readOnlyTransactionsSeeThePastAndWriteNothing() async throws {
        let transport = ScriptedTransport([.began(1), .documents([nil]), .committed(0), .began(2)])
        let firestore = Firestore(transport: transport)
        let exists = try await firestore.runTransaction(.readOnly(at: DocumentResponse.time)) { transaction in
            try await transaction.getDocument(transaction.firestore.document("a/b")).exists
        }
        #expect(!exists)
        #expect(transport.requests.first == .begin(.readOnly(at: DocumentResponse.time)))
        let error = await #expect(throws: DocumentError.self) {
            try await firestore.runTransaction(.readOnly()) { transaction in
                try transaction.deleteDocument(transaction.firestore.document("a/b"))
            }
        }
        #expect(error?.code == .failedPrecondition)
        #expect(transport.requests.last == .rollback(TransactionID(rawValue: 2)))
    }

    @Test func bulkWritesGoInOrderAndTellWhatWasRefused() async throws {
        let written = Result<WriteResult, DocumentError>.success(
            WriteResult(updateTime: DocumentResponse.time, transformResults: []))
        let refused = Result<WriteResult, DocumentError>.failure(DocumentError(.alreadyExists, "it is there"))
        let transport = ScriptedTransport([
            .written([written, refused]), .written([written]),
            .written(Array(repeating: written, count: 500)), .written([written]),
        ])
        let firestore = Firestore(transport: transport)
        let writer = firestore.bulkWriter()
        let a = firestore.document("c/a")
        try await writer.setData(["n": 1], forDocument: a)
        try await writer.create(["n": 1], forDocument: firestore.document("c/b"))
        // A second write of a document waits for the first.
        try await writer.updateData(["n": 2], forDocument: a)
        let failures = await writer.flush()
        #expect(failures.map(\.reference.path) == ["c/b"] && failures.first?.error.code == .alreadyExists)
        for number in 0...500 { try await writer.deleteDocument(firestore.document("d/\(number)")) }
        #expect(await writer.close().isEmpty)
        let counts = transport.requests.map { request in
            if case .batchWrite(let writes) = request { writes.count } else { -1 }
        }
        #expect(counts == [2, 1, 500, 1])
        let error = await #expect(throws: DocumentError.self) { try await writer.deleteDocument(a) }
        #expect(error?.code == .failedPrecondition)
    }
}
