import TestSupport
import StoreTestSupport
import SQLiteStorage
import DocumentModel
@testable import DocumentStore
import Synchronization
import Testing

struct TransactionTests {
    private func code(_ body: () async throws -> Void) async -> StatusCode? { await refusal(body)?.code }

    @Test(arguments: EngineKind.allCases)
    func anUpdateIsNotLost(kind: EngineKind) async throws {
        try await withStore(kind) { test in
            try await test.set("a/b", ["n": .integer(0)])
            let (first, second) = (try await test.begin(), try await test.begin())
            _ = try await test.get("a/b", in: first)
            _ = try await test.get("a/b", in: second)
            try await test.set("a/b", ["n": .integer(1)], in: first)
            #expect(await code { try await test.set("a/b", ["n": .integer(1)], in: second) } == .aborted)
        }
    }

    @Test func writeSkewIsNotPossible() async throws {
        try await withStore { test in
            try await test.set("on/alice", ["call": .boolean(true)])
            try await test.set("on/bob", ["call": .boolean(true)])
            let (first, second) = (try await test.begin(), try await test.begin())
            for id in [first, second] {
                _ = try await test.get("on/alice", in: id)
                _ = try await test.get("on/bob", in: id)
            }
            try await test.set("on/alice", ["call": .boolean(false)], in: first)
            #expect(await code { try await test.set("on/bob", ["call": .boolean(false)], in: second) } == .aborted)
        }
    }

    @Test func phantomsAreSeenAndOthersAreNot() async throws {
        try await withStore { test in
            var query = Query(collectionID: "c")
            query.filter = .field(try FieldPath("n"), .greaterThan, .integer(5))
            let (first, second) = (try await test.begin(), try await test.begin())
            #expect(try await test.query(query, in: first).isEmpty)
            #expect(try await test.query(query, in: second).isEmpty)
            try await test.set("c/small", ["n": .integer(1)])
            try await test.set("d/other", ["n": .integer(9)])
            try await test.set("x/one", [:], in: first)
            try await test.set("c/big", ["n": .integer(9)])
            #expect(await code { try await test.set("x/two", [:], in: second) } == .aborted)
            let third = try await test.begin()
            #expect(try await test.query(query, in: third).count == 1)
            try await test.commit([Write(path: try DocumentPath("c/big"), operation: .delete)])
            #expect(await code { try await test.set("x/three", [:], in: third) } == .aborted)
        }
    }

    @Test func aTransactionNeverSeesTwoStates() async throws {
        try await withStore { test in
            try await test.set("a/b", ["n": .integer(0)])
            let id = try await test.begin()
            _ = try await test.get("a/b", in: id)
            try await test.set("a/other", [:])
            _ = try await test.get("a/other", in: id)
            try await test.set("a/b", ["n": .integer(1)])
            #expect(await code { _ = try await test.get("a/third", in: id) } == .aborted)
        }
    }

    @Test(arguments: EngineKind.allCases)
    func readOnlyTransactionsStayAtOneVersion(kind: EngineKind) async throws {
        try await withStore(kind) { test in
            for i in 0..<6 { try await test.set("c/d\(i)", ["n": .integer(Int64(i))]) }
            let id = try await test.begin(.readOnly(at: nil))
            #expect(try await test.get("c/d0", in: id)?.fields["n"] == .integer(0))
            try await test.set("c/d1", ["n": .integer(100)])
            try await test.set("c/d1", ["n": .integer(-100)])
            try await test.commit([Write(path: try DocumentPath("c/d2"), operation: .delete)])
            try await test.set("c/d00", ["n": .integer(0)])
            #expect(try await test.get("c/d1", in: id)?.fields["n"] == .integer(1))
            var query = Query(collectionID: "c")
            query.orderBy = [Query.Order(try FieldPath("n"))]
            query.limit = 4
            #expect(try await test.query(query, in: id).map(\.path.id) == ["d0", "d1", "d2", "d3"])
            #expect(try await test.query(query).map(\.path.id) == ["d1", "d0", "d00", "d3"])
            #expect(await code { try await test.set("c/x", [:], in: id) } == .invalidArgument)
        }
    }

    @Test func blindWritesDoNotConflict() async throws {
        try await withStore { test in
            let id = try await test.begin()
            try await test.set("a/b", ["n": .integer(1)])
            try await test.set("a/b", ["n": .integer(2)], in: id)
        }
    }

    @Test func transactionsEndOnceAndInTime() async throws {
        try await withStore { test in
            let used = try await test.begin()
            try await test.commit([], in: used)
            #expect(await code { try await test.commit([], in: used) } == .invalidArgument)
            let idle = try await test.begin()
            test.clock.advance(seconds: 61)
            let error = await refusal { _ = try await test.get("a/b", in: idle) }
            #expect(error == .invalidArgument("The referenced transaction has expired or is no longer valid."))
            let long = try await test.begin()
            for _ in 0..<5 {
                test.clock.advance(seconds: 50)
                _ = try await test.get("a/b", in: long)
            }
            test.clock.advance(seconds: 50)
            #expect(await code { try await test.commit([], in: long) } == .invalidArgument)
        }
    }

    @Test func transactionsBelongToTheirOwner() async throws {
        try await withStore { test in
            let mine = OperationContext(owner: 1)
            let id = try await test.begin(context: mine)
            let other = OperationContext(owner: 2)
            #expect(await code { _ = try await test.get("a/b", in: id, context: other) } == .invalidArgument)
            #expect(await code { try await test.commit([], in: id) } == .invalidArgument)
            _ = try await test.get("a/b", in: id, context: mine)
            test.store.release(owner: 1)
            #expect(await code { try await test.commit([], in: id, context: mine) } == .invalidArgument)
            #expect(test.store.parts.transactions.withLock { $0.openCount } == 0)
        }
    }

    @Test func tooOldTransactionsAreAborted() async throws {
        var configuration = TestStore.configuration
        configuration.maxRecentChanges = 3
        try await withStore(configuration: configuration) { test in
            let id = try await test.begin()
            _ = try await test.get("a/b", in: id)
            for i in 0..<5 { try await test.set("c/d\(i)", [:]) }
            #expect(await code { try await test.set("a/b", [:], in: id) } == .aborted)
        }
    }

    @Test func afterShutdownEverythingIsRefused() async throws {
        let test = try TestStore()
        let id = try await test.begin()
        _ = try await test.get("a/b", in: id)
        await test.store.shutdown()
        #expect(await code { _ = try await test.get("a/b") } == .unavailable)
        #expect(await code { try await test.set("a/b", [:]) } == .unavailable)
        await test.store.shutdown()
    }

    @Test func documentsAndTimesSurviveReopening() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        let clock = ManualClock()
        var last: Timestamp?
        for round in 0..<3 {
            let engine = try SQLiteEngine(file: file)
            let store = try DocumentStore(engine: engine, now: clock.timestamp)
            try store.start()
            let write = Write(path: try DocumentPath("a/b"), operation: .set(["n": .integer(Int64(round))]))
            let result = try await store.commit([write]).result
            if let last { #expect(result.commitTime > last) }
            last = result.commitTime
            await store.shutdown()
            try engine.close()
        }
    }
}
