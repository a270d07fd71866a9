import DocumentModel
import WorkerProtocol
import FunctionsRuntime
import Testing

@Suite struct QueryTests {
    private let firestore = Firestore(transport: ScriptedTransport())
    private var users: CollectionReference { firestore.collection("users") }

    private func model(_ query: some Queryable) throws -> DocumentModel.Query { try query.query.resolved().model }
    private func path(_ dotted: String) throws -> FieldPath { try FieldPath(dotted) }

    private func name(_ path: String) throws -> Value {
        .reference(DocumentName(database: DatabaseID(project: "demo-test"), path: try DocumentPath(path)))
    }

    private func refusal(_ query: some Queryable) -> String? {
        #expect(throws: DocumentError.self) { try query.query.resolved() }?.message
    }

    @Test func collectionsAndGroupsAreNamed() throws {
        #expect(try model(users) == DocumentModel.Query(collectionID: "users"))
        let orders = firestore.document("users/ada").collection("orders")
        #expect(
            try model(orders) == DocumentModel.Query(parent: try DocumentPath("users/ada"), collectionID: "orders"))
        #expect(
            try model(firestore.collectionGroup("orders"))
                == DocumentModel.Query(collectionID: "orders", allDescendants: true))
    }

    @Test func filtersGatherUnderOneAnd() throws {
        #expect(try model(users.whereField("a", isEqualTo: 1)).filter == .field(try path("a"), .equal, 1))
        let query = users.whereField("a.b", isLessThan: 1).whereField("c", in: ["x", "y"])
            .whereFilter(.orFilter([.whereField("d", isEqualTo: FieldValue.null), .whereField("e", isNotEqualTo: 2)]))
        #expect(
            try model(query).filter
                == .and([
                    .field(try path("a.b"), .lessThan, 1),
                    .field(try path("c"), .in, .array([.string("x"), .string("y")])),
                    .or([.unary(try path("d"), .isNull), .field(try path("e"), .notEqual, 2)]),
                ]))
    }

    @Test func everyComparisonHasItsOperator() throws {
        let queries: [(FunctionsRuntime.Query, DocumentModel.Query.Operator)] = [
            (users.whereField("a", isEqualTo: 1), .equal), (users.whereField("a", isNotEqualTo: 1), .notEqual),
            (users.whereField("a", isLessThan: 1), .lessThan),
            (users.whereField("a", isLessThanOrEqualTo: 1), .lessThanOrEqual),
            (users.whereField("a", isGreaterThan: 1), .greaterThan),
            (users.whereField("a", isGreaterThanOrEqualTo: 1), .greaterThanOrEqual),
            (users.whereField("a", arrayContains: 1), .arrayContains),
        ]
        for (query, comparison) in queries {
            #expect(try model(query).filter == .field(try path("a"), comparison, 1))
        }
        let listed: [(FunctionsRuntime.Query, DocumentModel.Query.Operator)] = [
            (users.whereField("a", in: [1]), .in), (users.whereField("a", notIn: [1]), .notIn),
            (users.whereField("a", arrayContainsAny: [1]), .arrayContainsAny),
        ]
        for (query, comparison) in listed {
            #expect(try model(query).filter == .field(try path("a"), comparison, .array([1])))
        }
    }

    @Test func nullAndNaNAreTestsOfTheirOwn() throws {
        #expect(try model(users.whereField("a", isNotEqualTo: Int?.none)).filter == .unary(try path("a"), .isNotNull))
        #expect(try model(users.whereField("a", isEqualTo: Double.nan)).filter == .unary(try path("a"), .isNaN))
        #expect(try model(users.whereField("a", isNotEqualTo: Double.nan)).filter == .unary(try path("a"), .isNotNaN))
    }

    @Test func documentIDIsComparedAsAName() throws {
        let query = users.whereField(FieldPath.documentID, in: ["ada", users.document("bob")])
        #expect(
            try model(query).filter
                == .field(.documentID, .in, .array([try name("users/ada"), try name("users/bob")])))
        let group = firestore.collectionGroup("orders")
            .whereField(FieldPath.documentID, isEqualTo: "users/ada/orders/1")
        #expect(try model(group).filter == .field(.documentID, .equal, try name("users/ada/orders/1")))
    }

    @Test func orderCursorsAndSizesAreTaken() throws {
        let query = users.order(by: "a").order(by: "b", descending: true).start(at: [1, "x"]).end(before: [9])
            .offset(2).limit(to: 5).select(["a", "c.d"])
        var expected = DocumentModel.Query(collectionID: "users")
        expected.orderBy = [.init(try path("a")), .init(try path("b"), descending: true)]
        expected.start = .init(values: [1, .string("x")], before: true)
        expected.end = .init(values: [9], before: true)
        expected.offset = 2
        expected.limit = 5
        expected.projection = [try path("a"), try path("c.d")]
        #expect(try model(query) == expected)
        let open = try model(users.order(by: "a").start(after: [1]).end(at: [2]))
        #expect(open.start == .init(values: [1], before: false))
        #expect(open.end == .init(values: [2], before: false))
        // A wire has 32 bits for it.
        #expect(try model(users.limit(to: .max)).limit == 2_147_483_647)
    }

    @Test func cursorAtADocumentSpellsTheOrderOut() throws {
        let document = DocumentSnapshot(try stored("users/ada", ["a": 1, "z": 5]), firestore: firestore)
        let query = users.whereField("z", isGreaterThan: 0).order(by: "a", descending: true)
            .start(afterDocument: document)
        let result = try model(query)
        #expect(
            result.orderBy == [
                .init(try path("a"), descending: true), .init(try path("z"), descending: true),
                .init(.documentID, descending: true),
            ])
        #expect(result.start == .init(values: [1, 5, try name("users/ada")], before: false))
        let quoted = DocumentSnapshot(try stored("users/ada", ["x": 1, "x-y": 2]), firestore: firestore)
        let two = users.whereField("`x-y`", isGreaterThan: 0).whereField("x", isGreaterThan: 0)
        let fields = try model(two.start(atDocument: quoted)).orderBy.map(\.field)
        #expect(fields == [try path("x"), try path("`x-y`"), .documentID])
        #expect(
            refusal(users.order(by: "q").end(atDocument: document))
                == "the document users/ada has no field q, which the query is ordered by")
        // The documents would have the order of their names.
        #expect(
            refusal(users.start(afterDocument: document).whereField("a", isGreaterThan: 0))
                == "an inequality on a comes after a document's cursor; move it before start and end")
        let refined = users.order(by: "a").start(afterDocument: document)
            .whereField("a", isLessThan: 9).whereField("z", isEqualTo: 5)
        #expect(try model(refined).orderBy == [.init(try path("a")), .init(.documentID)])
    }

    @Test func lastDocumentsAreTheFirstOfTheReversedOrder() async throws {
        let transport = ScriptedTransport([
            .results([try stored("users/b", [:]), try stored("users/a", [:])], readTime: DocumentResponse.time)
        ])
        let users = Firestore(transport: transport).collection("users")
        let found = try await users.order(by: "n").start(at: [1]).end(before: [9]).limit(toLast: 2).getDocuments()
        #expect(found.documents.map(\.documentID) == ["a", "b"])
        var expected = DocumentModel.Query(collectionID: "users")
        expected.orderBy = [.init(try path("n"), descending: true)]
        expected.start = .init(values: [9], before: false)
        expected.end = .init(values: [1], before: false)
        expected.limit = 2
        #expect(transport.requests == [.query(expected, .strong)])
    }

    @Test func whatIsWrongIsToldWhenTheQueryIsUsed() {
        #expect(refusal(users.limit(to: 0)) == "a query's limit must be at least 1, not 0")
        #expect(refusal(users.offset(-1)) == "a query's offset must be at least 0, not -1")
        #expect(refusal(users.limit(toLast: 1)) == "limit(toLast:) requires an order; add order(by:)")
        #expect(refusal(users.whereField("a..b", isEqualTo: 1)) == "field path \"a..b\" has an empty segment")
        #expect(refusal(users.order(by: "").limit(to: 0)) == "field path \"\" has an empty segment")
        #expect(refusal(firestore.collection("users/ada"))?.contains("names a document") == true)
        #expect(refusal(firestore.collectionGroup("a/b"))?.contains("isn't empty and has no slash") == true)
        #expect(refusal(firestore.collectionGroup(""))?.contains("isn't empty and has no slash") == true)
        #expect(refusal(users.start(at: [1]))?.hasPrefix("a cursor has 1 values") == true)
        let late = "order(by:) comes after a cursor; move it before start and end"
        #expect(refusal(users.order(by: "a").end(at: [1]).order(by: "b")) == late)
        #expect(refusal(users.whereField("a", isEqualTo: FieldValue.increment(1)))?.contains("increment()") == true)
        #expect(refusal(users.whereFilter(.orFilter([])))?.contains("at least one filter") == true)
        #expect(refusal(users.whereField(FieldPath.documentID, isEqualTo: 5))?.contains("document's id") == true)
    }
}
