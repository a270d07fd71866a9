import DocumentModel
@testable import DocumentStore
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// Where a client's query ends that reads too much.
@Suite(.endsHangs) struct QueryLimitTests {
    private struct AllowEverything: AccessPolicy {
        func check(_ access: Access, in view: AccessView) {}
    }

    private let client = OperationContext(owner: 7, policy: AllowEverything())
    private let all = Query(collectionID: "c")

    private func configuration(
        entries: Int = 1_000_000, documents: Int = 1_000_000, time: Duration = .seconds(1000)
    ) -> StoreConfiguration {
        var configuration = TestStore.configuration
        configuration.clientQueryLimits = QueryLimits(entries: entries, documents: documents, time: time)
        return configuration
    }

    private func fill(_ test: TestStore, _ count: Int) async throws {
        try await test.commit(
            try (0..<count).map { number in
                Write(
                    path: try DocumentPath("c/d\(number)"),
                    operation: .set(["a": .integer(Int64(number % 2)), "b": .integer(Int64(number))]))
            })
    }

    /// Reads many entries and finds nothing.
    private func costly() throws -> Query {
        var query = all
        query.filter = .and([
            .field(try FieldPath("a"), .equal, .integer(1)), .field(try FieldPath("b"), .notEqual, .integer(3)),
        ])
        query.orderBy = [Query.Order(try FieldPath("b"))]
        query.offset = 400
        return query
    }

    @Test(arguments: EngineKind.allCases) func aClientsQueryEndsAtItsDocuments(kind: EngineKind) async throws {
        try await withStore(kind, configuration: configuration(documents: 100)) { test in
            try await fill(test, 101)
            let error = await refusal { _ = try await test.query(all, context: client) }
            #expect(error?.code == .resourceExhausted)
            #expect(error?.message.contains("100 documents") == true)
            #expect(try await test.query(all).count == 101)
            var some = all
            some.limit = 100
            #expect(try await test.query(some, context: client).count == 100)
            // So does the first result of a listener.
            let listener = try test.store.listen(to: .query(all), in: client)
            let refused = await refusal { _ = try await listener.next() }
            #expect(refused?.code == .resourceExhausted)
        }
    }

    @Test(arguments: EngineKind.allCases) func aClientsQueryEndsAtItsEntries(kind: EngineKind) async throws {
        try await withStore(kind, configuration: configuration(entries: 100)) { test in
            try await fill(test, 400)
            let error = await refusal { _ = try await test.query(try costly(), context: client) }
            #expect(error?.code == .resourceExhausted)
            #expect(error?.message.contains("100 entries of indexes") == true)
            #expect(error?.message.contains("this index would help: {") == true, "\(error as Any)")
            #expect(try await test.query(try costly()).isEmpty)
            let counted = await refusal {
                _ = try await test.store.aggregate(all, [.count(upTo: nil)], .strong, in: client)
            }
            #expect(counted?.code == .resourceExhausted)
            let sum = await refusal {
                _ = try await test.store.aggregate(all, [.sum(try FieldPath("b"))], .strong, in: client)
            }
            #expect(sum?.code == .resourceExhausted)
        }
    }

    @Test func aMeterEndsAtItsTimeAndOnceItsCallerHasLeft() throws {
        let now = Mutex(Duration.zero)
        func read(_ meter: QueryMeter) throws { for _ in 0..<2000 { try meter.readEntries() } }
        let limits = QueryLimits(entries: .max, documents: .max, time: .seconds(2))
        let cancellation = OperationCancellation()
        let meter = QueryMeter(limits, cancellation: cancellation, elapsed: { now.withLock { $0 } })
        try read(meter)
        now.withLock { $0 = .seconds(2) }
        try read(meter)
        now.withLock { $0 = .milliseconds(2001) }
        #expect(throws: QueryMeter.Exceeded.self) { try read(meter) }
        now.withLock { $0 = .seconds(1) }
        try read(meter)
        cancellation.cancel()
        #expect(throws: DocumentError.callerLeft) { try read(meter) }
        // Large documents are looked at one by one.
        #expect(throws: DocumentError.callerLeft) { try meter.readDocument(1 << 20) }
        // A function's has no limits, but ends with its caller.
        let function = QueryMeter(nil, cancellation: cancellation)
        #expect(throws: DocumentError.callerLeft) { try read(function) }
        try read(QueryMeter())
    }

    /// A busy host reaches it earlier than an idle one.
    @Test func onlyTheLimitOnTimeMayPass() throws {
        let now = Mutex(Duration.zero)
        let limits = QueryLimits(entries: 100, documents: .max, time: .seconds(2))
        let meter = QueryMeter(limits, elapsed: { now.withLock { $0 } }) { what, mayPass in
            DocumentError(mayPass ? .unavailable : .invalidArgument, what)
        }
        #expect(throws: DocumentError(.invalidArgument, "100 entries of indexes")) { try meter.readEntries(101) }
        now.withLock { $0 = .seconds(3) }
        #expect(throws: DocumentError(.unavailable, "for 2 s")) { try meter.readDocument(1 << 20) }
    }

    @Test func aQueryThatEndsAtALimitIsReported() async throws {
        var configuration = configuration(entries: 100)
        let reports = Mutex<[CostlyQuery]>([])
        configuration.onCostlyQuery = { report in reports.withLock { $0.append(report) } }
        try await withStore(configuration: configuration) { test in
            try await fill(test, 400)
            // Its shape is not reported: it reads little enough.
            _ = try await test.query(try costly())
            #expect(reports.withLock { $0.isEmpty })
            for _ in 0..<2 {
                let error = await refusal { _ = try await test.query(try costly(), context: client) }
                #expect(error?.code == .resourceExhausted)
            }
            let report = try #require(reports.withLock { $0.count == 1 ? $0[0] : nil })
            #expect(report.cost.documentsReturned == 0)
            #expect(report.cost.indexEntriesRead > 100)
            #expect(report.suggestedIndex != nil)
            let counted = await refusal {
                _ = try await test.store.aggregate(all, [.sum(try FieldPath("b"))], .strong, in: client)
            }
            #expect(counted?.code == .resourceExhausted)
            #expect(reports.withLock { $0.count } == 2)
        }
    }
}
