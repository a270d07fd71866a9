import DocumentModel
import WorkerProtocol
import FunctionsRuntime
import Testing

@Suite struct QueryStreamTests {
    private func path(_ dotted: String) throws -> FieldPath { try FieldPath(dotted) }

    private func name(_ path: String) throws -> Value {
        .reference(DocumentName(database: DatabaseID(project: "demo-test"), path: try DocumentPath(path)))
    }

    private func results(_ ids: [String], _ fields: [String: Value] = [:]) throws -> DocumentResponse {
        .results(try ids.map { try stored("users/\($0)", fields) }, readTime: DocumentResponse.time)
    }

    /// The queries that were asked, and the ids of what they found.
    private func ids(_ stream: QueryStream) async throws -> [String] {
        var ids: [String] = []
        for try await document in stream { ids.append(document.id) }
        return ids
    }

    private func users(_ transport: ScriptedTransport) -> CollectionReference {
        Firestore(transport: transport).collection("users")
    }

    private func queries(_ transport: ScriptedTransport) -> [DocumentModel.Query] {
        transport.requests.compactMap { if case .query(let query, .strong) = $0 { query } else { nil } }
    }

    /// The page after a document, of a collection in the order of the names.
    private func page(_ limit: Int, after id: String? = nil) throws -> DocumentModel.Query {
        var query = DocumentModel.Query(collectionID: "users")
        query.orderBy = [.init(.documentID)]
        query.limit = limit
        query.start = try id.map { .init(values: [try name("users/\($0)")], before: false) }
        return query
    }

    @Test func eachPageBeginsAfterTheOneBefore() async throws {
        let transport = ScriptedTransport([try results(["a", "b"]), try results(["c", "d"]), try results(["e"])])
        #expect(try await ids(users(transport).stream(pageSize: 2)) == ["a", "b", "c", "d", "e"])
        #expect(queries(transport) == [try page(2), try page(2, after: "b"), try page(2, after: "d")])
    }

    @Test func afterAFullPageTheNextMayBeEmpty() async throws {
        let transport = ScriptedTransport([try results(["a"]), try results([])])
        #expect(try await ids(users(transport).stream(pageSize: 1)) == ["a"])
        #expect(queries(transport) == [try page(1), try page(1, after: "a")])
        let empty = ScriptedTransport([try results([])])
        #expect(try await ids(users(empty).stream()).isEmpty)
        #expect(queries(empty) == [try page(500)])
    }

    @Test func aPageIsReadOnceItIsNeeded() async throws {
        let transport = ScriptedTransport([try results(["a", "b"]), try results([])])
        var documents = users(transport).stream(pageSize: 2).makeAsyncIterator()
        #expect(transport.requests.isEmpty)
        for id in ["a", "b"] {
            #expect(try await documents.next()?.id == id)
            #expect(transport.requests.count == 1)
        }
        #expect(try await documents.next() == nil)
        #expect(transport.requests.count == 2)
        #expect(try await documents.next() == nil)
        #expect(transport.requests.count == 2)
    }

    @Test func limitAndOffsetAreThoseOfTheWhole() async throws {
        let transport = ScriptedTransport([try results(["a", "b"]), try results(["c", "d"]), try results(["e"])])
        let stream = users(transport).limit(to: 5).offset(3).stream(pageSize: 2)
        #expect(try await ids(stream) == ["a", "b", "c", "d", "e"])
        var first = try page(2)
        first.offset = 3
        #expect(queries(transport) == [first, try page(2, after: "b"), try page(1, after: "d")])
        let short = ScriptedTransport([try results(["a"])])
        #expect(try await ids(users(short).limit(to: 5).stream()) == ["a"])
        #expect(queries(short) == [try page(5)])
    }

    @Test func theOrderIsCompletedByInequalitiesAndTheName() async throws {
        let fields: [String: Value] = ["n": 1, "m": .map(["x": .double(.nan)]), "z": .null]
        let transport = ScriptedTransport([try results(["b"], fields), try results([])])
        let query = users(transport).whereField("m.x", isNotEqualTo: 2).whereField("n", isGreaterThan: 0)
            .order(by: "z", descending: true).start(at: [FieldValue.null]).end(before: [false])
        #expect(try await ids(query.stream(pageSize: 1)) == ["b"])
        let asked = queries(transport)
        let orders = try ["z", "m.x", "n", "__name__"].map {
            DocumentModel.Query.Order(try path($0), descending: true)
        }
        #expect(asked.map(\.orderBy) == [orders, orders])
        #expect(asked.map(\.start?.values) == [[.null], [.null, .double(.nan), 1, try name("users/b")]])
        #expect(asked.map(\.start?.before) == [true, false])
        #expect(asked.map(\.end?.values) == [[.boolean(false)], [.boolean(false)]])
        #expect(asked.map(\.filter) == [try query.resolved().model.filter, try query.resolved().model.filter])
    }

    @Test func whatIsOrderedByAndNotSelectedIsReadAndLeftOut() async throws {
        let fields: [String: Value] = ["n": 1, "m": .map(["x": 2, "y": 3]), "b": 4]
        let transport = ScriptedTransport([try results(["a"], fields)])
        let query = users(transport).order(by: "m.x").order(by: "n").select(["b", "m.y", "m.x.deep"])
        var found: [[String: Value]?] = []
        for try await document in query.stream() { found.append(document.data()) }
        #expect(found == [["b": 4, "m": .map(["y": 3])]])
        #expect(queries(transport).map(\.projection) == [try ["b", "m.y", "m.x", "n"].map(path)])

        // What is selected with all that is in it is there.
        let whole = ScriptedTransport([try results(["a"], fields)])
        _ = try await ids(users(whole).order(by: "m.x").select(["m"]).stream())
        #expect(queries(whole).map(\.projection) == [[try path("m")]])

        let names = ScriptedTransport([try results(["a"], ["n": 1])])
        for try await document in users(names).order(by: "n").select([]).stream() { #expect(document.data() == [:]) }
        #expect(queries(names).map(\.projection) == [[try path("n")]])
        let plain = ScriptedTransport([try results(["a"])])
        _ = try await ids(users(plain).select([]).stream())
        #expect(queries(plain).map(\.projection) == [[.documentID]])
    }

    @Test func pagesThatAreTooLargeBecomeSmaller() async throws {
        let tooLarge = DocumentResponse.failed(DocumentError(.resourceExhausted, "too large"))
        let transport = ScriptedTransport([
            tooLarge, tooLarge, try results(["a", "b"]), tooLarge, tooLarge, try results(["c"]), tooLarge, tooLarge,
        ])
        var documents = users(transport).stream(pageSize: 7).makeAsyncIterator()
        for id in ["a", "b", "c"] { #expect(try await documents.next()?.id == id) }
        // A single document that is too large can't be read.
        let error = await #expect(throws: DocumentError.self) { try await documents.next() }
        #expect(error?.code == .resourceExhausted)
        #expect(
            queries(transport) == [
                // Behind a full page, the documents may be smaller.
                try page(7), try page(4), try page(2), try page(4, after: "b"), try page(2, after: "b"),
                try page(1, after: "b"), try page(2, after: "c"), try page(1, after: "c"),
            ])
    }

    @Test func anErrorEndsTheStream() async throws {
        let transport = ScriptedTransport([try results(["a"]), .failed(DocumentError(.unavailable, "gone"))])
        var documents = users(transport).stream(pageSize: 1).makeAsyncIterator()
        #expect(try await documents.next()?.id == "a")
        let error = await #expect(throws: DocumentError.self) { try await documents.next() }
        #expect(error == DocumentError(.unavailable, "gone"))
        #expect(try await documents.next() == nil)
        #expect(transport.requests.count == 2)
    }

    @Test func whatCannotBeReadPageByPageIsRefused() async throws {
        func refusal(_ stream: QueryStream) async -> String? {
            let error = await #expect(throws: DocumentError.self) { try await ids(stream) }
            #expect(error?.code == .invalidArgument)
            return error?.message
        }
        let users = users(ScriptedTransport())
        #expect(
            await refusal(users.order(by: "n").limit(toLast: 2).stream())
                == "a query with limit(toLast:) can't be streamed; reverse its order and use limit(to:), or use "
                + "getDocuments()")
        for size in [0, -1] {
            #expect(
                await refusal(users.stream(pageSize: size)) == "a page of a stream has at least 1 document, not \(size)"
            )
        }
        #expect(await refusal(users.limit(to: 0).stream()) == "a query's limit must be at least 1, not 0")
        #expect(await refusal(users.document("a/b").collection("c").query.stream())?.contains("a slash") == true)
    }

    private struct User: Codable, Equatable, Sendable { var n: Int }

    @Test func documentsAreDecoded() async throws {
        let transport = ScriptedTransport([try results(["a"], ["n": 1]), try results(["b"], ["n": .string("x")])])
        var found: [FunctionsRuntime.Document<User>] = []
        await #expect(throws: DecodingError.self) {
            for try await user in users(transport).stream(as: User.self, pageSize: 1) { found.append(user) }
        }
        #expect(found.map(\.id) == ["a"])
        #expect(found.map(\.data) == [User(n: 1)])
    }
}
