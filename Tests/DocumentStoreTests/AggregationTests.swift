import StorageEngine
import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

struct AggregationTests {
    private let n = FieldPath(segments: ["n"])

    private func filled(_ values: [Value], _ kind: EngineKind = .memory) async throws -> TestStore {
        let test = try TestStore(kind)
        for (index, value) in values.enumerated() {
            try await test.set("c/d\(index)", ["n": value, "all": .integer(1)])
        }
        return test
    }

    struct Example: Sendable {
        var values: [Value]
        var sum: Value
        var average: Value
    }

    @Test(
        arguments: [
            Example(values: [], sum: .integer(0), average: .null),
            Example(values: [.string("x"), .null], sum: .integer(0), average: .null),
            Example(values: [.integer(1), .integer(2), .string("x")], sum: .integer(3), average: .double(1.5)),
            Example(values: [.integer(1), .double(2)], sum: .double(3), average: .double(1.5)),
            Example(values: [.double(1), .double(1)], sum: .double(2), average: .double(1)),
            Example(values: [.integer(.max), .integer(.max)], sum: .double(0x1p64), average: .double(0x1p63)),
            Example(
                values: [.integer(.max), .integer(1), .integer(-1)], sum: .integer(.max), average: .double(0x1p63 / 3)),
            Example(values: [.integer(1), .double(.nan)], sum: .double(.nan), average: .double(.nan)),
            Example(
                values: [.double(.infinity), .double(-.infinity)], sum: .double(.nan), average: .double(.nan)),
            Example(values: [.double(1e308), .double(1e308)], sum: .double(.infinity), average: .double(.infinity)),
            Example(
                values: [.double(1e16), .double(1), .double(-1e16)], sum: .double(1), average: .double(1.0 / 3)),
            Example(
                values: [.integer(1 << 53 + 1), .double(0.5)], sum: .double(0x1p53 + 1.5),
                average: .double((0x1p53 + 1.5) / 2)),
        ], EngineKind.allCases)
    func numbersAreSummedUp(example: Example, kind: EngineKind) async throws {
        try await withStore(await filled(example.values, kind)) { test async throws -> Void in
            let all = Query(collectionID: "c")
            let fields: [AggregateField] = [.sum(n), .average(n), .count(upTo: nil)]
            let expected = [example.sum, example.average, .integer(Int64(example.values.count))]
            // From keys, and from documents.
            #expect(try await test.aggregate(all, fields) == expected)
            #expect(
                try await test.aggregate(all, fields + [.sum(FieldPath(segments: ["all"]))]).prefix(3) == expected[...])
        }
    }

    @Test func sumsAndCountsReadKeysOnly() async throws {
        let test = try await filled((0..<50).map { .integer($0) })
        let all = Query(collectionID: "c")
        let (explanation, _, values) = try await test.explain(all, [.sum(n), .count(upTo: nil)])
        #expect(values == [.integer(1225), .integer(50)])
        #expect(explanation.cost?.documentsRead == 0)
        #expect(explanation.indexes.map(\.properties) == ["(n ASC, __name__ ASC)"])
        var some = all
        some.filter = .field(n, .in, .array([.integer(3), .integer(4), .integer(4)]))
        #expect(try await test.explain(some, [.count(upTo: nil)]).values == [.integer(2)])
        #expect(try await test.explain(some, [.count(upTo: nil)]).explanation.cost?.documentsRead == 0)
        await test.store.shutdown()
    }

    @Test func aBoundStopsTheCount() async throws {
        let test = try await filled((0..<50).map { .integer($0) })
        let (explanation, _, values) = try await test.explain(Query(collectionID: "c"), [.count(upTo: 7)])
        #expect(values == [.integer(7)])
        #expect(explanation.cost?.indexEntriesRead == 7)
        await test.store.shutdown()
    }

    @Test func offsetsAndLimitsTakePartOfTheDocuments() async throws {
        let test = try await filled((0..<20).map { .integer($0) })
        var query = Query(collectionID: "c")
        query.orderBy = [Query.Order(n, descending: true)]
        query.offset = 2
        query.limit = 3
        #expect(
            try await test.aggregate(query, [.sum(n), .count(upTo: nil)]) == [.integer(17 + 16 + 15), .integer(3)])
        query.limit = nil
        query.offset = 18
        #expect(try await test.aggregate(query, [.sum(n), .count(upTo: nil)]) == [.integer(1), .integer(2)])
        query.offset = 30
        #expect(try await test.aggregate(query, [.count(upTo: nil)]) == [.integer(0)])
        query.limit = 0
        #expect(try await test.aggregate(query, [.average(n)]) == [.null])
        await test.store.shutdown()
    }

    @Test func onlyDocumentsWithAllFieldsCount() async throws {
        try await withStore(await filled([.integer(1), .integer(2)])) { test in
            try await test.set("c/without", ["all": .integer(1)])
            let all = FieldPath(segments: ["all"])
            let query = Query(collectionID: "c")
            #expect(
                try await test.aggregate(query, [.sum(all), .average(n), .count(upTo: nil)])
                    == [.integer(2), .double(1.5), .integer(2)])
            #expect(try await test.aggregate(query, [.sum(all), .count(upTo: nil)]) == [.integer(3), .integer(3)])
        }
    }

    @Test func whatIsNoAggregationIsRefused() async throws {
        try await withStore { test in
            let query = Query(collectionID: "c")
            for fields: [AggregateField] in [
                [], Array(repeating: .count(upTo: nil), count: 6), [.count(upTo: -1)],
                [.sum(.documentID)],
                [.sum(FieldPath(segments: ["__x__"]))],
            ] {
                #expect(await refusal { _ = try await test.aggregate(query, fields) }?.code == .invalidArgument)
            }
        }
    }

    @Test func anAggregationIsAReadOfItsTransaction() async throws {
        try await withStore(await filled([.integer(1), .integer(2)])) { test in
            var query = Query(collectionID: "c")
            query.filter = .field(n, .greaterThan, .integer(1))
            let transaction = try await test.begin()
            #expect(try await test.aggregate(query, [.count(upTo: nil)], .transaction(transaction)) == [.integer(1)])
            try await test.set("c/phantom", ["n": .integer(5)])
            let write = Write(path: try DocumentPath("other/x"), operation: .set([:]))
            #expect(await refusal { try await test.commit([write], in: transaction) }?.code == .aborted)
            let (second, prefetched) = try await test.store.begin(.readWrite(retrying: transaction)).transaction
            #expect(prefetched.isEmpty)
            #expect(try await test.aggregate(query, [.count(upTo: nil)], .transaction(second)) == [.integer(2)])
            try await test.commit([write], in: second)
        }
    }

    @Test func aPolicyIsAskedAsForAList() async throws {
        struct Refusal: AccessPolicy {
            func check(_ access: Access, in view: AccessView) throws {
                guard case .list = access else { return }
                throw DocumentError(.permissionDenied, "no")
            }
        }
        try await withStore(await filled([.integer(1)])) { test in
            let user = OperationContext(policy: Refusal())
            let query = Query(collectionID: "c")
            #expect(
                await refusal { _ = try await test.aggregate(query, [.count(upTo: nil)], context: user) }?.code
                    == .permissionDenied)
            let explained = await refusal { _ = try await test.store.explain(query, analyze: false, in: user) }
            #expect(explained?.code == .permissionDenied)
            let group = Query(collectionID: "c", allDescendants: true)
            let partitioned = await refusal { _ = try await test.store.partition(group, points: 1, in: user) }
            #expect(partitioned?.code == .permissionDenied)
        }
    }

    @Test(arguments: EngineKind.allCases) func aCountEndsBetweenTwoSteps(kind: EngineKind) async throws {
        let step = AggregationPlan.maxCounted
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        try await withStore(engine: engine) { test in
            func fill(_ numbers: Range<Int>) async throws {
                try await test.commit(
                    try numbers.map { Write(path: try DocumentPath("c/d\($0)"), operation: .set(["n": .integer(1)])) })
            }
            func count(_ meter: QueryMeter) throws -> Int {
                try engine.makeReadSession().read { storage in
                    let plan = try AggregationPlan(
                        try NormalizedQuery(Query(collectionID: "c")), [.count(upTo: nil)], IndexCatalog())
                    return try plan.run(in: DocumentView(storage), meter, maxBytes: .max).count
                }
            }
            try await fill(0..<2 * step)
            #expect(try count(QueryMeter()) == 2 * step)
            try await fill(2 * step..<2 * step + 1)
            #expect(try count(QueryMeter()) == 2 * step + 1)
            let left = OperationCancellation()
            left.cancel()
            let meter = QueryMeter(nil, cancellation: left)
            #expect(throws: DocumentError.callerLeft) { try count(meter) }
            #expect(meter.entries == step)
        }
    }
}
