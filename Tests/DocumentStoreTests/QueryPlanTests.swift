import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import Synchronization
import TestSupport
import Testing

/// Which indexes queries are answered from, and how much is read for them.
struct QueryPlanTests {
    private static let count = 3000

    private func filled(
        _ indexes: IndexConfiguration = IndexConfiguration(),
        configuration: StoreConfiguration = TestStore.configuration
    ) async throws -> TestStore {
        let test = try TestStore(.memory, configuration: configuration)
        try await test.store.configureIndexes(indexes)
        for start in stride(from: 0, to: Self.count, by: 500) {
            try await test.commit(try (start..<start + 500).map(document))
        }
        try await test.store.indexesAreDone()
        return test
    }

    private func document(_ n: Int) throws -> Write {
        var fields: [String: Value] = ["n": .integer(Int64(n)), "owner": .integer(Int64(n % 10))]
        fields["rare"] = .boolean(n % 1000 == 7)
        fields["flag"] = .boolean(n % 10 != 3)
        fields["rank"] = .integer(Int64(100 - n % 100))
        return Write(path: try DocumentPath("c/d\(10_000 + n)"), operation: .set(fields))
    }

    private func composite(_ fields: (String, IndexDefinition.Kind)...) throws -> IndexConfiguration {
        IndexConfiguration(indexes: [
            IndexDefinition(
                collectionID: "c", fields: try fields.map { IndexDefinition.Field(try FieldPath($0.0), $0.1) })
        ])
    }

    private func equal(_ field: String, _ value: Value) -> Query.Filter {
        .field(FieldPath(segments: [field]), .equal, value)
    }

    private func query(
        _ filter: Query.Filter? = nil, by order: [Query.Order] = [], limit: Int? = nil
    ) -> Query {
        var query = Query(collectionID: "c")
        query.filter = filter
        query.orderBy = order
        query.limit = limit
        return query
    }

    private func order(_ field: String, descending: Bool = false) -> Query.Order {
        Query.Order(FieldPath(segments: [field]), descending: descending)
    }

    @Test(arguments: [false, true])
    func aCompositeIndexIsReadNoFurtherThanTheLimit(backwards: Bool) async throws {
        try await withStore(filled(try composite(("owner", .ascending), ("rank", .descending)))) { test in
            let query = query(equal("owner", .integer(3)), by: [order("rank", descending: !backwards)], limit: 20)
            let (explanation, results, _) = try await test.explain(query)
            #expect(explanation.indexes.map(\.properties) == ["(owner ASC, rank DESC, __name__ DESC)"])
            #expect(results.count == 20)
            #expect(explanation.cost?.documentsRead == 20)
            #expect(explanation.cost?.indexEntriesRead == 20)
            #expect(explanation.suggestedIndex == nil)
        }
    }

    @Test func aHotValueIsReadNoFurtherThanTheLimit() async throws {
        try await withStore(filled()) { test in
            let (explanation, results, _) = try await test.explain(query(equal("flag", .boolean(true)), limit: 10))
            #expect(results.count == 10)
            #expect(explanation.cost?.indexEntriesRead == 10)
        }
    }

    @Test func equalitiesAreIntersected() async throws {
        try await withStore(filled()) { test in
            let filter = Query.Filter.and([
                equal("owner", .integer(7)), equal("rare", .boolean(true)), equal("flag", .boolean(true)),
            ])
            let (explanation, results, _) = try await test.explain(query(filter))
            #expect(results.map(\.path.id) == ["d10007", "d11007", "d12007"])
            #expect(explanation.indexes.count == 3)
            #expect(explanation.cost?.documentsRead == 3)
            #expect(try #require(explanation.cost?.indexEntriesRead) < 40)
        }
    }

    @Test func whatIsRareIsSortedRatherThanSoughtInOrder() async throws {
        try await withStore(filled()) { test in
            let query = query(equal("rare", .boolean(true)), by: [order("n", descending: true)], limit: 10)
            let (explanation, results, _) = try await test.explain(query)
            #expect(results.map(\.path.id) == ["d12007", "d11007", "d10007"])
            #expect(try #require(explanation.cost?.documentsRead) < 10)
        }
    }

    @Test func whatIsCommonIsSoughtInOrder() async throws {
        try await withStore(filled()) { test in
            let query = query(equal("flag", .boolean(true)), by: [order("n", descending: true)], limit: 10)
            let (explanation, results, _) = try await test.explain(query)
            #expect(results.first?.path.id == "d12999")
            #expect(results.count == 10)
            #expect(try #require(explanation.cost?.documentsRead) < 20)
            let suggestion =
                #"{"collectionGroup":"c","queryScope":"COLLECTION","fields":[{"fieldPath":"flag","order":"ASCENDING"},{"fieldPath":"n","order":"DESCENDING"}]}"#
            #expect(try await test.explain(query, analyze: false).explanation.suggestedIndex == suggestion)
        }
    }

    /// All of owner 3 come last in the order, and there are too many of them to be counted at once.
    @Test func aWalkThatFindsNothingIsLeft() async throws {
        try await withStore(filled()) { test in
            let filter = Query.Filter.and([
                equal("owner", .integer(3)), equal("flag", .boolean(false)),
                .field(FieldPath(segments: ["n"]), .greaterThan, .integer(-1)),
            ])
            try await test.commit(
                try (0..<400).map { n in
                    Write(
                        path: try DocumentPath("c/d\(10_003 + (n / 2) * 10)"),
                        operation: .update(["n": .integer(Int64(100_000 + n))], mask: [FieldPath(segments: ["n"])]))
                })
            let (explanation, results, _) = try await test.explain(query(filter, by: [order("n")], limit: 150))
            #expect(results.count == 150)
            #expect(results.map { $0.fields["owner"] } == Array(repeating: .integer(3), count: 150))
            #expect(try #require(explanation.cost?.documentsRead) < 1500)
            #expect(explanation.steps.contains { $0.hasPrefix("left ") })
        }
    }

    @Test func unequalValuesAreRanges() async throws {
        try await withStore(filled()) { test in
            let filter = Query.Filter.field(FieldPath(segments: ["rare"]), .notEqual, .boolean(false))
            let (explanation, results, _) = try await test.explain(query(filter))
            #expect(results.count == 3)
            #expect(explanation.cost?.indexEntriesRead == 3)
        }
    }

    @Test func anExemptedFieldIsLookedUpInDocuments() async throws {
        let field = try FieldPath("rare")
        let test = try await filled(
            IndexConfiguration(exemptions: [
                FieldExemption(collectionID: "c", field: field, isOrdered: false, hasElements: false)
            ]))
        let (explanation, results, _) = try await test.explain(query(equal("rare", .boolean(true))))
        #expect(results.count == 3)
        #expect(explanation.cost?.documentsRead == Self.count)
        #expect(
            explanation.suggestedIndex
                == #"{"collectionGroup":"c","fieldPath":"rare","indexes":[{"order":"ASCENDING","queryScope":"COLLECTION"}]}"#
        )
        await test.store.shutdown()
    }

    @Test func aGroupIsAnsweredFromItsIndex() async throws {
        try await withStore { test in
            let definition = IndexDefinition(
                collectionID: "sub", scope: .collectionGroup,
                fields: [IndexDefinition.Field(try FieldPath("n"), .ascending)])
            try await test.commit(
                try (0..<300).map {
                    Write(path: try DocumentPath("c/\($0 % 7)/sub/d\($0)"), operation: .set(["n": .integer(Int64($0))]))
                })
            try await test.set("sub/root", ["n": .double(4.5)])
            var query = Query(collectionID: "sub", allDescendants: true)
            query.filter = .field(try FieldPath("n"), .greaterThan, .integer(2))
            query.limit = 4
            let expected = ["c/3/sub/d3", "c/4/sub/d4", "sub/root", "c/5/sub/d5"]
            let walked = try await test.explain(query)
            #expect(walked.results.map(\.path.string) == expected)
            let json =
                #"{"collectionGroup":"sub","fieldPath":"n","indexes":["#
                + #"{"order":"ASCENDING","queryScope":"COLLECTION"},{"order":"DESCENDING","queryScope":"COLLECTION"},"#
                + #"{"arrayConfig":"CONTAINS","queryScope":"COLLECTION"},"#
                + #"{"order":"ASCENDING","queryScope":"COLLECTION_GROUP"}]}"#
            #expect(walked.explanation.suggestedIndex == json)
            try await test.store.configureIndexes(IndexConfiguration(indexes: [definition]))
            try await test.store.indexesAreDone()
            let (explanation, results, _) = try await test.explain(query)
            #expect(results.map(\.path.string) == expected)
            #expect(explanation.indexes.map(\.scope) == ["Collection group"])
            #expect(explanation.cost?.documentsRead == 4)
            #expect(explanation.suggestedIndex == nil)
        }
    }

    @Test func noIndexIsSuggestedForASecondRange() async throws {
        try await withStore { test in
            let (n, rank) = (try FieldPath("n"), try FieldPath("rank"))
            var query = Query(collectionID: "c")
            query.filter = .and([.field(n, .greaterThan, .integer(1)), .field(rank, .greaterThan, .integer(1))])
            #expect(try await test.explain(query, analyze: false).explanation.suggestedIndex == nil)
        }
    }

    @Test func aFullLogOfCostlyQueriesForgetsTheOldest() {
        let log = CostlyQueryLog()
        for second in 0...1000 { #expect(log.isDue("shape \(second)", at: .seconds(second))) }
        #expect(!log.isDue("shape 1000", at: .seconds(1001)))
        #expect(log.isDue("shape 0", at: .seconds(1001)))
        #expect(CostlyQueryLog.cut(String(repeating: "é", count: 100_000)).utf8.count < 1000)
    }

    @Test func anOffsetReadsNoDocumentsWhereKeysTellAll() async throws {
        try await withStore(filled()) { test in
            var query = query(by: [order("n")], limit: 5)
            query.offset = 1000
            let (explanation, results, _) = try await test.explain(query)
            #expect(results.first?.path.id == "d11000")
            #expect(explanation.cost?.documentsRead == 5)
        }
    }

    @Test func whatIsLookedAtOnlyCountsAgainstNoBound() async throws {
        var configuration = TestStore.configuration
        configuration.maxReadBytes = 20_000
        try await withStore(.memory, configuration: configuration) { test in
            let large = Value.string(String(repeating: "x", count: 1000))
            try await test.commit(
                try (0..<100).map {
                    Write(
                        path: try DocumentPath("c/d\(100 + $0)"),
                        operation: .set([
                            "large": large, "n": .integer(Int64($0 * 37 % 100)), "even": .boolean($0 % 10 == 0),
                        ]))
                })
            let order = [order("n", descending: true), Query.Order(.documentID)]
            #expect(
                try await test.query(query(by: order, limit: 3)).map { $0.fields["n"] } == [
                    .integer(99), .integer(98), .integer(97),
                ])
            var last = query(by: order, limit: 5)
            last.offset = 90
            #expect(try await test.query(last).map { $0.fields["n"] } == (5...9).reversed().map { .integer($0) })
            let few = Query.Filter.field(FieldPath(segments: ["n"]), .notIn, .array([.integer(1)]))
            #expect(try await test.query(query(.and([few, equal("even", .boolean(true))]))).count == 10)
            #expect(await refusal { _ = try await test.query(query(by: order)) }?.code == .resourceExhausted)
        }
    }

    @Test func fieldsThatAreNotSelectedDontCountWhereTheyAreSorted() async throws {
        var configuration = TestStore.configuration
        configuration.maxReadBytes = 20_000
        try await withStore(.memory, configuration: configuration) { test in
            let large = Value.string(String(repeating: "x", count: 1000))
            try await test.commit(
                try (0..<100).map {
                    Write(
                        path: try DocumentPath("c/d\(100 + $0)"),
                        operation: .set(["large": large, "n": .integer(Int64($0 * 37 % 100)), "all": .boolean(true)]))
                })
            let whole = query(equal("all", .boolean(true)), by: [order("n")])
            #expect(await refusal { _ = try await test.query(whole) }?.code == .resourceExhausted)
            var names = whole
            names.projection = [.documentID]
            let found = try await test.query(names)
            // 73 is the inverse of 37.
            #expect(found.map(\.path.id) == (0..<100).map { "d\(100 + $0 * 73 % 100)" })
            #expect(found.allSatisfy { $0.fields.isEmpty })
        }
    }

    /// Nulls are stored as a byte each, and what documents are ordered by is held while they are sorted.
    @Test func valuesThatAreSortedCountByTheMemoryThatTheyTake() async throws {
        var configuration = TestStore.configuration
        configuration.maxReadBytes = 10_000 * MemoryLayout<Value>.stride * 2
        try await withStore(.memory, configuration: configuration) { test in
            let nulls = Value.array(Array(repeating: .null, count: 10_000))
            for n in 0..<6 { try await test.set("c/d\(n)", ["nulls": nulls]) }
            var names = query(by: [order("nulls")])
            names.projection = [.documentID]
            let error = await refusal { _ = try await test.query(names) }
            #expect(error?.code == .resourceExhausted)
            #expect(error?.message.contains("names and values") == true)
        }
    }

    @Test func aPlanAloneReadsNothing() async throws {
        try await withStore(filled()) { test in
            let (explanation, results, _) = try await test.explain(query(equal("owner", .integer(1))), analyze: false)
            #expect(explanation.cost == nil)
            #expect(results.isEmpty)
            #expect(explanation.indexes.map(\.properties) == ["(owner ASC, __name__ ASC)"])
            #expect(explanation.steps == ["scan index (owner ASC, __name__ ASC) of collection \"c\""])
        }
    }

    @Test func aCostlyQueryIsToldOfOnceAnHour() async throws {
        let reports = Mutex<[CostlyQuery]>([])
        var configuration = TestStore.configuration
        configuration.onCostlyQuery = { report in reports.withLock { $0.append(report) } }
        try await withStore(filled(configuration: configuration)) { test in
            // It reads much and returns as much.
            _ = try await test.query(query(equal("flag", .boolean(true))))
            #expect(reports.withLock { $0.isEmpty })
            func ask(_ secret: Int64) async throws {
                let filter = Query.Filter.field(FieldPath(segments: ["flag"]), .notEqual, .integer(secret))
                let byFlag = [order("flag", descending: true), order("rank", descending: true)]
                _ = try await test.query(query(filter, by: byFlag, limit: 2))
            }
            try await ask(-777)
            try await ask(-778)
            let report = try #require(reports.withLock { $0.count == 1 ? $0[0] : nil })
            #expect(report.shape == "collection c where flag != order by flag DESC, rank DESC limit")
            #expect(report.cost.documentsReturned == 2)
            #expect(report.cost.documentsRead == 2700)
            #expect(report.suggestedIndex?.contains(#"{"fieldPath":"rank","order":"DESCENDING"}"#) == true)
            test.clock.advance(seconds: 3601)
            try await ask(-779)
            #expect(reports.withLock { $0.count } == 2)
        }
    }
}
