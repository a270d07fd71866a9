import DocumentModel
import WorkerProtocol
import FunctionsRuntime
import Testing

@Suite struct VectorQueryTests {
    private let firestore = Firestore(transport: ScriptedTransport())
    private var items: CollectionReference { firestore.collection("items") }

    private func search(
        _ query: some Queryable, field: String = "v", vector: [Double] = [1], limit: Int = 1,
        resultField: String? = nil, threshold: Double? = nil
    ) -> VectorQuery {
        query.findNearest(
            vectorField: field, queryVector: vector, limit: limit, distanceMeasure: .euclidean,
            distanceResultField: resultField, distanceThreshold: threshold)
    }

    private func refusal(_ query: VectorQuery) async -> String? {
        let error = await #expect(throws: DocumentError.self) { try await query.getDocuments() }
        #expect(error?.code == .invalidArgument)
        return error?.message
    }

    @Test func aSearchIsAskedOfTheStore() async throws {
        let (first, second) = (try stored("items/b", ["d": .double(0.5)]), try stored("items/a", ["d": .double(1)]))
        let transport = ScriptedTransport([.results([first, second], readTime: DocumentResponse.time)])
        let snapshot = try await Firestore(transport: transport).collection("items")
            .whereField("shop", isEqualTo: 1).select(["d"])
            .findNearest(
                vectorField: "a.v", queryVector: FieldValue.vector([1, -0.5]), limit: 1000,
                distanceMeasure: .dotProduct, distanceResultField: "d", distanceThreshold: 0.25
            ).getDocuments()
        #expect(snapshot.map(\.documentID) == ["b", "a"])
        #expect(snapshot.first?.d?.doubleValue == 0.5)
        var query = DocumentModel.Query(collectionID: "items")
        query.filter = .field(try FieldPath("shop"), .equal, 1)
        query.projection = [try FieldPath("d")]
        let search = try VectorSearch(
            field: try FieldPath("a.v"), vector: [1, -0.5], measure: .dotProduct, limit: 1000, resultField: "d",
            threshold: 0.25)
        #expect(transport.requests == [.nearest(search, of: query, .strong)])
    }

    @Test(arguments: zip(VectorQuery.DistanceMeasure.allCases, VectorSearch.Measure.allCases))
    func everyMeasureIsTheStores(measure: VectorQuery.DistanceMeasure, model: VectorSearch.Measure) async throws {
        let transport = ScriptedTransport([.results([], readTime: DocumentResponse.time)])
        let snapshot = try await Firestore(transport: transport).collection("items")
            .findNearest(
                vectorField: FieldPath(["a.b"]), queryVector: VectorValue([Float(0.5)]), limit: 1,
                distanceMeasure: measure
            ).getDocuments()
        #expect(snapshot.isEmpty)
        let search = try VectorSearch(
            field: FieldPath(["a.b"]), vector: [0.5], measure: model, limit: 1, resultField: nil, threshold: nil)
        #expect(transport.requests == [.nearest(search, of: DocumentModel.Query(collectionID: "items"), .strong)])
    }

    @Test func aTransactionSearchesWhatItSees() async throws {
        let transport = ScriptedTransport([
            .began(1), .results([try stored("items/a", [:])], readTime: DocumentResponse.time), .committed(0),
        ])
        let ids = try await Firestore(transport: transport).runTransaction { transaction in
            let items = transaction.firestore.collection("items")
            return try await transaction.getDocuments(
                items.findNearest(vectorField: "v", queryVector: [1], limit: 1, distanceMeasure: .euclidean)
            ).map(\.documentID)
        }
        #expect(ids == ["a"])
        let search = try VectorSearch(
            field: try FieldPath("v"), vector: [1], measure: .euclidean, limit: 1, resultField: nil, threshold: nil)
        #expect(
            transport.requests[1]
                == .nearest(
                    search, of: DocumentModel.Query(collectionID: "items"), .transaction(TransactionID(rawValue: 1))))
    }

    @Test func anErrorNamesTheArgument() async {
        #expect(
            await refusal(search(items, field: "a..b"))
                == #"findNearest.vectorField: field path "a..b" has an empty segment"#)
        #expect(
            await refusal(search(items, field: "__name__"))
                == #"findNearest.vectorField: the field name "__name__" has the reserved form __*__"#)
        #expect(
            await refusal(search(items, vector: []))
                == "findNearest.queryVector: a vector has 0 elements; it must have 1 to 2048")
        #expect(
            await refusal(search(items, vector: [Double](repeating: 0, count: 2049)))
                == "findNearest.queryVector: a vector has 2049 elements; it must have 1 to 2048")
        #expect(
            await refusal(search(items, vector: [0, .nan]))
                == "findNearest.queryVector: a vector's element 1 is NaN")
        for limit in [-1, 0, 1001] {
            #expect(
                await refusal(search(items, limit: limit)) == "findNearest.limit must be 1 to 1000, not \(limit)")
        }
        for threshold in [Double.nan, .infinity, -.infinity] {
            #expect(
                await refusal(search(items, threshold: threshold))
                    == "findNearest.distanceThreshold must be a finite number, not \(threshold)")
        }
        #expect(
            await refusal(search(items, resultField: ""))
                == "findNearest.distanceResultField: a field name must not be empty")
        #expect(
            await refusal(search(items, resultField: "__d__"))
                == #"findNearest.distanceResultField: the field name "__d__" has the reserved form __*__"#)
    }

    @Test func aSearchIsOfAllDocumentsOfItsQuery() async {
        let limited = "findNearest can't follow limit(to:) or limit(toLast:); it has a limit of its own"
        #expect(await refusal(search(items.limit(to: 1))) == limited)
        #expect(await refusal(search(items.order(by: "n").limit(toLast: 1))) == limited)
        #expect(await refusal(search(items.offset(1))) == "findNearest can't follow offset")
        for query in [items.order(by: "n").start(at: [1]), items.order(by: "n").end(before: [1])] {
            #expect(await refusal(search(query)) == "findNearest can't follow a cursor; use distanceThreshold")
        }
        #expect(await refusal(search(firestore.collectionGroup("a/b")))?.contains("isn't a collection id") == true)
    }
}
