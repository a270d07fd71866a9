@testable import CommitPipeline
import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import Synchronization
import TestSupport
import Testing

struct FailingEngineTests {
    @Test func aFailedBatchFailsItsMembersAndLeavesNoTrace() async throws {
        let engine = FailingEngine()
        try await withStore(engine: engine) { test in
            try await test.set("a/b", ["n": .integer(1)])
            let listener = try test.store.listen(to: .documents([DocumentPath("a/b")]))
            _ = try await listener.next()
            let reader = try await test.begin()
            _ = try await test.get("a/b", in: reader)
            engine.fails.withLock { $0 = true }
            #expect(await refusal { try await test.set("a/b", ["n": .integer(2)]) }?.code == .unavailable)
            engine.fails.withLock { $0 = false }
            #expect(try await test.get("a/b")?.fields == ["n": .integer(1)])
            // A write that wasn't kept doesn't conflict either.
            try await test.set("a/b", ["n": .integer(3)], in: reader)
            let document = try #require(await test.get("a/b"))
            #expect(document.fields == ["n": .integer(3)])
            // No listener is notified of it, and the log doesn't count it.
            #expect(try await listener.next() == .changes([.modified(document)], at: document.updateTime))
            try engine.makeReadSession().read { storage in
                var bytes = 0
                try storage.scan(.changes, .all, reverse: false) { key, value in
                    bytes += key.count + value.count
                    return true
                }
                #expect(try HistoryBounds.read(storage)?.bytes == bytes)
            }
        }
    }

    /// A rollback is done even if its batch fails.
    @Test func aRollbackIsToldAsItIs() async throws {
        let engine = FailingEngine()
        try await withStore(engine: engine) { test in
            let id = try await test.begin()
            engine.fails.withLock { $0 = true }
            #expect(try await test.store.rollback(id) == .rolledBack)
            #expect(test.store.parts.transactions.withLock { $0.openCount } == 0)
        }
    }

    @Test func waitingCommitsShareOneBatch() async throws {
        let engine = FailingEngine()
        let clock = ManualClock()
        let store = try DocumentStore(engine: engine, now: clock.timestamp)
        // In which batch each was answered.
        let answered = Mutex<[Int]>([])
        for i in 0..<100 {
            let write = Write(path: try DocumentPath("a/d\(i)"), operation: .set([:]))
            store.submit([write]) { answer in
                guard case .success(.committed) = answer else { return }
                answered.withLock { $0.append(engine.batches.load(ordering: .relaxed)) }
            }
        }
        try store.start()
        await store.shutdown()
        let batches = answered.withLock { $0 }
        #expect(batches.count == 100)
        #expect(Set(batches).count == 1)
    }

    @Test func oneRefusedMemberDoesNotHarmTheOthers() async throws {
        let engine = FailingEngine()
        let store = try DocumentStore(engine: engine, now: ManualClock().timestamp)
        let codes = Mutex<[StatusCode?]>([])
        let path = try DocumentPath("a/b")
        for precondition in [Write.Precondition.exists(true), .exists(false), .exists(false), .exists(true)] {
            let write = Write(path: path, operation: .set([:]), precondition: precondition)
            store.submit([write]) { answer in
                codes.withLock { codes in
                    if case .failure(let error) = answer { codes.append(error.code) } else { codes.append(nil) }
                }
            }
        }
        try store.start()
        await store.shutdown()
        #expect(codes.withLock { $0 } == [.notFound, nil, .alreadyExists, nil])
    }
}
