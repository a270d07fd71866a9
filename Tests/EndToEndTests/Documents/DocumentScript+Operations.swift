import DocumentModel
import WorkerProtocol

extension DocumentScript {
    /// All of them, one after the other, in collections of their own.
    mutating func run() async throws {
        try await values()
        try await writes()
        try await queries()
        try await aggregates()
        try await groups()
        try await transactions()
    }

    private mutating func values() async throws {
        let all: [String: Value] = [
            "null": .null, "boolean": .boolean(true), "integer": .integer(.min), "double": .double(-1.5e300),
            "nan": .double(.nan), "infinity": .double(-.infinity), "text": .string("é\u{1F600}\"\\\n\u{1}"),
            "time": .timestamp(Timestamp(seconds: -62_135_596_800, nanoseconds: 999_999_000)),
            "bytes": .bytes([0, 0xFB, 0xFF]), "point": .geoPoint(GeoPoint(latitude: -90, longitude: 180)),
            "reference": try reference("a/b/c/d"), "empty": .array([]), "a.b`c\\": .map([:]),
            "list": .array([.integer(1), .map(["x": .array([.null])])]),
            "vector": .map(["__type__": .string("__vector__"), "value": .array([.double(1), .double(2)])]),
        ]
        let path = try path("alone-values/ü:%? #")
        await commit("all types", Self.set(path, all))
        try await get("what is there, what isn't, and twice", path.string, "alone-values/none", path.string)
        await commit("no fields", Self.set(try self.path("alone-values/empty"), [:]))
        try await get("a document without fields", "alone-values/empty")
        await ask("nothing", .get([], .strong))
    }

    private mutating func writes() async throws {
        let a = try path("alone-writes/a")
        let n = FieldPath(segments: ["n"])
        let deep = FieldPath(segments: ["m", "x.y"])
        await commit(
            "create", Self.set(a, ["n": .integer(1), "m": .map(["x.y": .null, "z": .integer(0)])], .exists(false)))
        await commit("create again", Self.set(a, [:], .exists(false)))
        await commit(
            "update by mask",
            Write(
                path: a,
                operation: .update(["m": .map(["x.y": .string("new")])], mask: [deep, FieldPath(segments: ["gone"])])))
        await commit(
            "delete a field", Write(path: a, operation: .update([:], mask: [FieldPath(segments: ["m", "z"])])))
        try await get("after updates", "alone-writes/a")
        await commit(
            "transforms",
            Write(
                path: a, operation: .update([:], mask: []),
                transforms: [
                    FieldTransform(n, .increment(.integer(4))),
                    FieldTransform(FieldPath(segments: ["d"]), .increment(.double(0.5))),
                    FieldTransform(FieldPath(segments: ["max"]), .maximum(.integer(7))),
                    FieldTransform(FieldPath(segments: ["min"]), .minimum(.double(-2))),
                    FieldTransform(
                        FieldPath(segments: ["list"]), .arrayUnion([.integer(1), .integer(2), .integer(1)])),
                    FieldTransform(FieldPath(segments: ["list"]), .arrayRemove([.integer(2)])),
                ]))
        await commit(
            "the commit's time",
            Write(
                path: try path("alone-writes/time"), operation: .set([:]),
                transforms: [FieldTransform(FieldPath(segments: ["at"]), .serverTimestamp)]))
        try await get("after transforms", "alone-writes/a")
        let missing = try path("alone-writes/none")
        await commit(
            "update what is missing",
            Write(path: missing, operation: .update([:], mask: []), precondition: .exists(true)))
        await commit("delete what is missing", Write(path: missing, operation: .delete))
        if case .documents(let found, _) = await perform(.get([a], .strong)), let time = found.first??.updateTime {
            await commit("on its update time", Self.set(a, ["n": .integer(9)], .updateTime(time)))
            await commit("on a stale update time", Self.set(a, ["n": .integer(10)], .updateTime(time)))
        }
        await commit("all or nothing", Self.set(missing, [:]), Self.set(a, [:], .exists(false)))
        try await get("after nothing", "alone-writes/none", "alone-writes/a")
        await ask(
            "each by itself",
            .batchWrite([
                Self.set(missing, ["n": .integer(1)]), Self.set(a, [:], .exists(false)),
                Write(path: try path("alone-writes/time"), operation: .delete),
            ]))
        try await get("after each by itself", "alone-writes/none", "alone-writes/a", "alone-writes/time")
    }

    private mutating func queries() async throws {
        for number in 0..<8 {
            await commit(
                "item \(number)",
                Self.set(
                    try path("alone-items/i\(number)"),
                    [
                        "n": .integer(Int64(number % 4)), "tags": .array([.string("t\(number % 3)"), .integer(1)]),
                        "text": .string("x\(number)"), "odd": number % 2 == 1 ? .double(.nan) : .null,
                    ]))
        }
        let n = FieldPath(segments: ["n"])
        let filters: [(String, Query.Filter)] = [
            ("equal", .field(n, .equal, .double(2))), ("not equal", .field(n, .notEqual, .integer(2))),
            ("less", .field(n, .lessThan, .integer(2))), ("at least", .field(n, .greaterThanOrEqual, .integer(2))),
            ("in", .field(n, .in, .array([.integer(0), .integer(3)]))),
            ("not in", .field(n, .notIn, .array([.integer(0), .integer(3)]))),
            ("array contains", .field(FieldPath(segments: ["tags"]), .arrayContains, .string("t1"))),
            (
                "array contains any",
                .field(FieldPath(segments: ["tags"]), .arrayContainsAny, .array([.string("t1"), .string("t2")]))
            ),
            ("is null", .unary(FieldPath(segments: ["odd"]), .isNull)),
            ("is NaN", .unary(FieldPath(segments: ["odd"]), .isNaN)),
            ("or", .or([.field(n, .equal, .integer(0)), .field(n, .equal, .integer(3))])),
            ("by name", .field(.documentID, .greaterThan, try reference("alone-items/i5"))),
        ]
        for (name, filter) in filters {
            var query = Query(collectionID: "alone-items")
            query.filter = filter
            await ask(name, .query(query, .strong))
        }
        var query = Query(collectionID: "alone-items")
        query.orderBy = [.init(n, descending: true), .init(.documentID, descending: true)]
        await ask("descending", .query(query, .strong))
        query.start = .init(values: [.integer(2)], before: false)
        await ask("after", .query(query, .strong))
        query.start = .init(values: [.integer(2), try reference("alone-items/i6")], before: true)
        query.end = .init(values: [.integer(0)], before: true)
        await ask("from a document to before a value", .query(query, .strong))
        query.offset = 1
        query.limit = 2
        query.projection = [n]
        await ask("a page of one field", .query(query, .strong))
        query.projection = [.documentID]
        await ask("a page of names", .query(query, .strong))
        await ask("nothing there", .query(Query(collectionID: "alone-nothing"), .strong))
        var wrong = Query(collectionID: "alone-items")
        wrong.filter = .field(n, .in, .array([]))
        await ask("an invalid query", .query(wrong, .strong))
    }

    private mutating func aggregates() async throws {
        let n = FieldPath(segments: ["n"])
        let fields: [AggregateField] = [
            .count(upTo: nil), .count(upTo: 3), .sum(n), .average(n), .sum(.init(segments: ["x"])),
        ]
        await ask("aggregates", .aggregate(Query(collectionID: "alone-items"), fields, .strong))
        await ask(
            "aggregates of nothing",
            .aggregate(Query(collectionID: "alone-nothing"), [.count(upTo: nil), .average(n)], .strong))
    }

    private mutating func groups() async throws {
        for path in [
            "alone-group/g0", "alone-a/x/alone-group/g1", "alone-a/y/alone-group/g2", "alone-b/x/alone-group/g3",
        ] {
            await commit(path, Self.set(try self.path(path), ["n": .integer(1)]))
        }
        await ask("a collection group", .query(Query(collectionID: "alone-group", allDescendants: true), .strong))
        let below = try path("alone-a/x")
        await ask("a collection below a document", .query(Query(parent: below, collectionID: "alone-group"), .strong))
        let count = DocumentRequest.aggregate(
            Query(parent: below, collectionID: "alone-group", allDescendants: true), [.count(upTo: nil)], .strong)
        await ask("a count below a document", count)
        for collection in ["alone-a", "alone-a/x/alone-group", "alone-items", "alone-nothing"] {
            await ask("all of \(collection)", .list(DocumentListing(try CollectionPath(collection))))
        }
    }

    private mutating func transactions() async throws {
        let a = try path("alone-tx/a")
        await commit("before transactions", Self.set(a, ["n": .integer(0)]))
        let reading = try await begin("a transaction")
        try await get("its read", "alone-tx/a", "alone-tx/none", in: .transaction(reading))
        await ask("its query", .query(Query(collectionID: "alone-tx"), .transaction(reading)))
        await commit("its commit", Self.set(a, ["n": .integer(1)]), transaction: reading)
        await commit("a second commit", Self.set(a, ["n": .integer(2)]), transaction: reading)
        let undone = try await begin("another")
        await ask("its rollback", .rollback(undone))
        try await get("a read after the rollback", "alone-tx/a", in: .transaction(undone))
        await ask("a transaction that only reads", .begin(.readOnly(at: nil)))
        let refused = try await begin("one that is refused")
        await commit("a precondition", Self.set(a, [:], .exists(false)), transaction: refused)
        try await get("what is there in the end", "alone-tx/a")
    }

    /// A transaction that conflicts with another client's write, for services that don't lock meanwhile.
    mutating func conflicts() async throws {
        let a = try path("alone-conflict/a")
        await commit("before conflicts", Self.set(a, ["n": .integer(0)]))
        let first = try await begin("one that will lose")
        try await get("its read", a.string, in: .transaction(first))
        await commit("another's write", Self.set(a, ["n": .integer(1)]))
        await commit("its commit is lost", Self.set(a, ["n": .integer(10)]), transaction: first)
        let second = try await begin("its second attempt", retrying: first)
        try await get("what that reads", a.string, in: .transaction(second))
        await commit("its second commit", Self.set(a, ["n": .integer(11)]), transaction: second)
        try await get("what is there after conflicts", a.string)
    }
}
