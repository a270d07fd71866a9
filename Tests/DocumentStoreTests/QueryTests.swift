import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import Testing

struct QueryTests {
    private func ids(_ documents: [Document]) -> [String] { documents.map(\.path.id) }

    private func filled(_ kind: EngineKind = .memory) async throws -> TestStore {
        let test = try TestStore(kind)
        let values: [(String, Value)] = [
            ("null", .null), ("false", .boolean(false)), ("nan", .double(.nan)), ("one", .integer(1)),
            ("onePointFive", .double(1.5)), ("two", .integer(2)), ("twoD", .double(2)), ("text", .string("t")),
            ("list", .array([.integer(1), .string("x")])), ("map", .map(["k": .integer(1)])),
        ]
        for (id, value) in values { try await test.set("c/" + id, ["f": value, "g": .integer(0)]) }
        try await test.set("c/without", ["g": .integer(1)])
        try await test.set("c/one/sub/inner", ["f": .integer(1)])
        return test
    }

    struct Example: Sendable {
        var filter: Query.Filter
        var expected: [String]
        init(_ comparison: Query.Operator, _ value: Value, _ expected: [String]) {
            filter = .field(FieldPath(segments: ["f"]), comparison, value)
            self.expected = expected
        }
        init(_ test: Query.UnaryOperator, _ expected: [String]) {
            filter = .unary(FieldPath(segments: ["f"]), test)
            self.expected = expected
        }
    }

    @Test(arguments: [
        Example(.equal, .double(1), ["one"]), Example(.equal, .integer(2), ["two", "twoD"]),
        Example(.equal, .null, []), Example(.equal, .double(.nan), []), Example(.notEqual, .null, []),
        Example(.lessThan, .integer(2), ["one", "onePointFive"]),
        Example(.greaterThanOrEqual, .double(.nan), []),
        Example(.in, .array([.null, .double(.nan), .integer(1)]), ["one"]),
        Example(.notIn, .array([.null, .integer(1)]), []),
        Example(.greaterThan, .integer(1), ["onePointFive", "two", "twoD"]),
        Example(.greaterThanOrEqual, .integer(1), ["one", "onePointFive", "two", "twoD"]),
        Example(.lessThan, .string("u"), ["text"]),
        Example(.lessThanOrEqual, .boolean(true), ["false"]),
        Example(.notEqual, .integer(2), ["false", "nan", "one", "onePointFive", "text", "list", "map"]),
        Example(
            .notIn, .array([.integer(2), .boolean(false)]), ["nan", "one", "onePointFive", "text", "list", "map"]),
        Example(.in, .array([.integer(2), .string("t"), .integer(2)]), ["text", "two", "twoD"]),
        Example(.arrayContains, .double(1), ["list"]),
        Example(.arrayContainsAny, .array([.string("x"), .integer(1)]), ["list"]),
        Example(.equal, .map(["k": .integer(1)]), ["map"]),
        Example(.isNull, ["null"]), Example(.isNaN, ["nan"]),
        Example(.isNotNaN, ["false", "one", "onePointFive", "two", "twoD", "text", "list", "map"]),
        Example(.isNotNull, ["false", "nan", "one", "onePointFive", "two", "twoD", "text", "list", "map"]),
    ])
    func filtersFind(example: Example) async throws {
        try await withStore(filled()) { test async throws -> Void in
            var query = Query(collectionID: "c")
            query.filter = example.filter
            #expect(ids(try await test.query(query)) == example.expected)
        }
    }

    /// As on the official emulator: a time that stands alone is compared with all of its nanoseconds.
    @Test func timesWithinComparedValuesAreCutAsStoredOnesAre() async throws {
        try await withStore { test in
            let time = Value.timestamp(Timestamp(seconds: 1, nanoseconds: 1_999))
            try await test.set("c/a", ["t": time, "l": .array([time]), "m": .map(["t": time])])
            let filters: [(String, Query.Operator, Value, Bool)] = [
                ("l", .equal, .array([time]), true), ("m", .equal, .map(["t": time]), true),
                ("t", .in, .array([time]), true), ("l", .arrayContainsAny, .array([time]), true),
                ("t", .equal, time, false), ("t", .lessThan, time, true), ("l", .arrayContains, time, false),
                ("m.t", .equal, time, false),
            ]
            for (field, comparison, value, isFound) in filters {
                var query = Query(collectionID: "c")
                query.filter = .and([.field(try FieldPath(field), comparison, value)])
                #expect(ids(try await test.query(query)) == (isFound ? ["a"] : []), "\(field) \(comparison)")
            }
            let cursors: [(String, Value, Bool)] = [
                ("l", .array([time]), true), ("m", .map(["t": time]), true), ("t", time, false),
            ]
            for (field, value, isFound) in cursors {
                var query = Query(collectionID: "c")
                query.orderBy = [Query.Order(try FieldPath(field))]
                query.start = Query.Cursor(values: [value], before: true)
                #expect(ids(try await test.query(query)) == (isFound ? ["a"] : []), "start at \(field)")
            }
        }
    }

    @Test func collectionGroupsReachAllDepths() async throws {
        try await withStore(.sqlite) { test in
            for path in ["sub/root", "a/x/sub/one", "a/y/sub/two", "b/x/sub/three", "a/x/other/no"] {
                try await test.set(path, ["n": .integer(1)])
            }
            var query = Query(collectionID: "sub", allDescendants: true)
            let byName = ["a/x/sub/one", "a/y/sub/two", "b/x/sub/three", "sub/root"]
            #expect(try await test.query(query).map(\.path.string) == byName)
            query.filter = .field(try FieldPath("n"), .equal, .integer(1))
            #expect(try await test.query(query).map(\.path.string) == byName)
            query.parent = try DocumentPath("a/x")
            #expect(try await test.query(query).map(\.path.string) == ["a/x/sub/one"])
            query.filter = nil
            #expect(try await test.query(query).map(\.path.string) == ["a/x/sub/one"])
            try await test.commit([Write(path: try DocumentPath("a/x/sub/one"), operation: .delete)])
            #expect(try await test.query(query).isEmpty)
        }
    }

    @Test func longValuesAreComparedInFull() async throws {
        try await withStore { test in
            let long = String(repeating: "x", count: 1600)
            for (id, end) in [("c", "a"), ("b", "b"), ("a", "c")] {
                try await test.set("l/" + id, ["f": .string(long + end)])
            }
            var query = Query(collectionID: "l")
            query.orderBy = [Query.Order(try FieldPath("f"))]
            query.limit = 2
            #expect(ids(try await test.query(query)) == ["c", "b"])
            query.filter = .field(try FieldPath("f"), .greaterThan, .string(long + "a"))
            #expect(ids(try await test.query(query)) == ["b", "a"])
            query.orderBy = []
            query.filter = .field(try FieldPath("f"), .equal, .string(long + "c"))
            #expect(ids(try await test.query(query)) == ["a"])
        }
    }

    @Test func projectionAnswersNamedFieldsOnly() async throws {
        try await withStore { test in
            try await test.set("c/a", ["m": .map(["x": .integer(1), "y": .integer(2)]), "z": .null])
            var query = Query(collectionID: "c")
            query.projection = [try FieldPath("m.x"), try FieldPath("none")]
            #expect(try await test.query(query).first?.fields == ["m": .map(["x": .integer(1)])])
            query.projection = [.documentID]
            #expect(try await test.query(query).first?.fields == [:])
        }
    }

    @Test func whatIsNoQueryIsRefused() throws {
        let field = try FieldPath("f")
        func reason(_ change: (inout Query) -> Void) -> String? {
            var query = Query(collectionID: "c")
            change(&query)
            do {
                _ = try NormalizedQuery(query)
                return nil
            } catch {
                return error.code == .invalidArgument ? error.message : "not invalidArgument"
            }
        }
        let many = Value.array((0..<31).map { .integer($0) })
        #expect(reason { $0.filter = .field(field, .in, many) }?.contains("30") == true)
        #expect(reason { $0.filter = .field(field, .in, .array([])) }?.contains("not empty") == true)
        let eleven = Value.array((0..<11).map { .integer($0) })
        #expect(reason { $0.filter = .field(field, .notIn, eleven) }?.contains("10") == true)
        let six = Query.Filter.field(field, .in, .array((0..<6).map { .integer($0) }))
        #expect(reason { $0.filter = .and([six, six]) }?.contains("disjunctions") == true)
        #expect(reason { $0.filter = .and([]) }?.contains("no parts") == true)
        let contains = Query.Filter.field(field, .arrayContains, .integer(1))
        let other = Query.Filter.field(field, .arrayContains, .integer(2))
        #expect(reason { $0.filter = .and([contains, other]) }?.contains("array-contains") == true)
        #expect(reason { $0.filter = .and([contains, contains]) } == nil)
        #expect(
            reason { $0.filter = .and([contains, .or([.field(field, .lessThan, .integer(1)), contains])]) }?.contains(
                "array-contains") == true)
        let any = [[1, 2], [2, 1]].map { elements in
            Query.Filter.field(field, .arrayContainsAny, .array(elements.map { .integer(Int64($0)) }))
        }
        #expect(reason { $0.filter = .and(any) } == nil)
        #expect(reason { $0.filter = .and([contains, any[0]]) }?.contains("array-contains") == true)
        // Refused though a part that is found nowhere leaves nothing to look for.
        let nowhere = Query.Filter.field(field, .lessThan, .null)
        #expect(reason { $0.filter = .and([contains, nowhere, other]) }?.contains("array-contains") == true)
        let not = Query.Filter.field(field, .notEqual, .integer(1))
        #expect(reason { $0.filter = .and([not, not]) }?.contains("!=") == true)
        let none = Query.Filter.field(field, .notIn, .array([.integer(1)]))
        #expect(reason { $0.filter = .and([none, six]) }?.contains("not-in") == true)
        let filters = Array(repeating: Query.Filter.field(field, .equal, .integer(1)), count: 100)
        #expect(reason { $0.filter = .and(filters) } == nil)
        #expect(reason { $0.filter = .and(filters + [filters[0]]) }?.contains("100") == true)
        #expect(reason { $0.orderBy = [.init(.documentID), .init(field)] }?.contains("after __name__") == true)
        #expect(reason { $0.filter = .field(.documentID, .equal, .integer(1)) }?.contains("__name__") == true)
        #expect(reason { $0.orderBy = [Query.Order(field), Query.Order(field)] }?.contains("twice") == true)
        #expect(reason { $0.start = Query.Cursor(values: [.null, .null], before: true) }?.contains("cursor") == true)
        #expect(reason { $0.limit = -1 }?.contains("limit") == true)
        #expect(reason { $0.collectionID = "a/b/c" }?.contains("slash") == true)
        #expect(reason { $0.collectionID = "" } != nil)
    }

    /// As on Firestore, where the document above the collection counts as one of them.
    @Test(arguments: [
        (0, 100, false, true), (0, 101, false, false), (60, 40, false, true), (60, 41, false, false),
        (0, 99, true, true), (0, 100, true, false), (99, 0, true, true), (100, 0, true, false),
    ])
    func filtersAndOrdersHaveABoundTogether(filters: Int, orders: Int, isBelow: Bool, isTaken: Bool) throws {
        var query = Query(parent: isBelow ? try DocumentPath("p/d") : nil, collectionID: "c")
        let parts = try (0..<filters).map { Query.Filter.field(try FieldPath("f\($0)"), .equal, .integer(1)) }
        if !parts.isEmpty { query.filter = .and(parts) }
        query.orderBy = try (0..<orders).map { Query.Order(try FieldPath("o\($0)")) }
        guard !isTaken else {
            #expect(try NormalizedQuery(query).orders.count == orders + 1)
            return
        }
        let error = #expect(throws: DocumentError.self) { try NormalizedQuery(query) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.hasSuffix("this one has \(filters) filters and \(orders) orders") == true)
    }

    /// The sum of a field reads it in its order, which isn't one of the query's own.
    @Test func aSumBesideAllFiltersIsFound() async throws {
        try await withStore { test in
            try await test.set("c/a", ["f": .integer(1), "n": .integer(2)])
            var query = Query(collectionID: "c")
            query.filter = .and(Array(repeating: .field(try FieldPath("f"), .equal, .integer(1)), count: 100))
            let answer = try await test.store.aggregate(
                query, [.sum(try FieldPath("n"))], .strong, in: OperationContext())
            #expect(answer.values == [.integer(2)])
        }
    }

    /// The ids and their order are those that Firebase's web SDK is tested with.
    /// As clients sort what they have: by names, however they are quoted where a path is written.
    @Test(arguments: [
        ("a", "b"), ("a", "`a-b`"), ("amount", "`価格`"), ("Z", "`x y`"), ("a.b", "`a-b`"), ("`a b`.c", "`a b c`"),
        ("a", "a.b"), ("`！`", "`😀`"),
    ])
    func inequalitiesOrderByTheNamesOfTheirFields(first: String, second: String) throws {
        let fields = [try FieldPath(first), try FieldPath(second)]
        for fields in [fields, Array(fields.reversed())] {
            var query = Query(collectionID: "c")
            query.filter = .and(fields.map { .field($0, .greaterThan, .integer(0)) })
            #expect(try NormalizedQuery(query).orders.map(\.field.description) == [first, second, "__name__"])
        }
    }

    @Test(arguments: EngineKind.allCases) func numericIDsComeFirst(kind: EngineKind) async throws {
        let sorted = [
            "__id-9223372036854775808__", "__id-2__", "__id7__", "__id12__", "__id9223372036854775807__", "12", "7",
            "A",
            "Aa", "__id", "__id1_", "_id1__", "a",
        ]
        try await withStore(kind) { test in
            let database = DatabaseID(project: "demo-shop")
            for id in sorted.shuffled() {
                let path = try DocumentPath("n/\(id)")
                try await test.set(
                    path.string, ["f": .integer(1), "r": .reference(DocumentName(database: database, path: path))])
                try await test.set("n/\(id)/s/x", ["f": .integer(1)])
            }
            var query = Query(collectionID: "n")
            #expect(ids(try await test.query(query)) == sorted)
            query.orderBy = [Query.Order(.documentID, descending: true)]
            #expect(ids(try await test.query(query)) == sorted.reversed())
            query.orderBy = []
            query.filter = .field(FieldPath(segments: ["f"]), .equal, .integer(1))
            query.start = Query.Cursor(values: [.string("__id7__")], before: false)
            query.orderBy = [Query.Order(.documentID)]
            #expect(ids(try await test.query(query)) == Array(sorted[3...]))
            query = Query(collectionID: "n")
            query.orderBy = [Query.Order(FieldPath(segments: ["r"]), descending: true)]
            #expect(ids(try await test.query(query)) == sorted.reversed())
            query = Query(collectionID: "s", allDescendants: true)
            let parents = try await test.query(query).map { $0.path.parent.parent?.id }
            #expect(parents == sorted)
            #expect(try await test.get("n/__id7__")?.fields["f"] == .integer(1))
            var problems: [String] = []
            _ = try test.store.check(report: { problems.append($0) }, progress: { _ in })
            #expect(problems == [])
        }
        for path in ["n/__id07__", "n/__id0__", "n/__id+7__", "n/__id__", "n/__id9223372036854775808__", "__id7__/a"] {
            #expect(throws: DocumentError.self, "\(path)") { try DocumentPath(path) }
        }
    }

    @Test func collectionsAreFoundBelowEachDocument() async throws {
        try await withStore(filled(.sqlite)) { test async throws in
            #expect(try await test.store.collectionIDs(below: nil) == ["c"])
            #expect(try await test.store.collectionIDs(below: try DocumentPath("c/one")) == ["sub"])
        }
    }

    /// With ids in the order of documents, of which some have others below them, some only these, and some both.
    @Test(arguments: [1, 2, 3, 1000]) func documentsAreListedWithThoseThatAreMissing(limit: Int) async throws {
        let ids = ["__id-7__", "__id7__", "__id10__", "\u{1}", "A", "a", "a!", "a\u{0}", "b", "é"]
        try await withStore { test in
            for (number, id) in ids.enumerated() {
                if number % 3 != 1 { try await test.set("c/\(id)", [:]) }
                if number % 3 != 0 {
                    try await test.set("c/\(id)/s/x", [:])
                    try await test.set("c/\(id)/s/y/t/z", [:])
                    try await test.set("c/\(id)/t/x", [:])
                }
            }
            for path in ["b/a", "c!/a", "cc/a", "d/c/c/x"] { try await test.set(path, [:]) }
            func all(_ collection: String) async throws -> [String] {
                var page = DocumentListing(try CollectionPath(collection), limit: limit)
                var found: [String] = []
                repeat {
                    let answer = try await test.store.list(page)
                    #expect(answer.ids.count == limit || answer.next == nil && !answer.ids.isEmpty)
                    found += answer.ids
                    page.token = answer.next
                } while page.token != nil
                return found
            }
            let sorted = try ids.map { try DocumentPath("c/\($0)") }
                .sorted { DocumentPath.compare($0, $1) == .ascending }.map(\.id)
            #expect(try await all("c") == sorted)
            #expect(try await all("c/b/s") == ["x", "y"])
            #expect(try await all("d") == ["c"])
            try await test.commit([Write(path: try DocumentPath("c/A/s/x"), operation: .delete)])
            try await test.commit([Write(path: try DocumentPath("c/A/s/y/t/z"), operation: .delete)])
            try await test.commit([Write(path: try DocumentPath("c/A/t/x"), operation: .delete)])
            #expect(try await all("c") == sorted.filter { $0 != "A" })
            #expect(try await test.store.list(DocumentListing(try CollectionPath("none"))).ids.isEmpty)
        }
    }

    @Test func onlyAnAdminListsDocuments() async throws {
        struct Everything: AccessPolicy {
            func check(_ access: Access, in view: AccessView) throws {}
        }
        try await withStore { test in
            let page = DocumentListing(try CollectionPath("c"))
            let client = OperationContext(owner: 7, policy: Everything())
            await #expect(throws: DocumentError(.permissionDenied, "Missing or insufficient permissions.")) {
                try await test.store.list(page, in: client)
            }
        }
    }

    /// A page may end anywhere, also where the next document lies deeper.
    @Test(arguments: [1, 2, 3, 100]) func descendantsArePaged(limit: Int) async throws {
        let below = ["c/a", "c/a/s/x", "c/a/s/x/t/y", "c/a!/s/x", "c/b", "c/\u{1}/s/x"]
        try await withStore { test in
            for path in below + ["b/a", "c!/a", "cc/a", "c/a/ss/z"] { try await test.set(path, [:]) }
            func all(_ parent: String?, _ id: String?) async throws -> [String] {
                var page = Descendants(parent: try parent.map { try DocumentPath($0) }, collectionID: id, limit: limit)
                var found: [String] = []
                while true {
                    let paths = try await test.store.descendants(page)
                    #expect(paths.count <= limit)
                    guard let last = paths.last else { return found.sorted() }
                    found += paths.map(\.string)
                    page.after = last
                }
            }
            #expect(try await all(nil, "c") == (below + ["c/a/ss/z"]).sorted())
            #expect(try await all("c/a", nil) == ["c/a/s/x", "c/a/s/x/t/y", "c/a/ss/z"])
            #expect(try await all("c/a", "s") == ["c/a/s/x", "c/a/s/x/t/y"])
            #expect(try await all("c/none", nil).isEmpty)
            #expect(try await all(nil, nil).count == below.count + 4)
        }
    }
}
