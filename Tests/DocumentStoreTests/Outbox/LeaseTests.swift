@testable import CommitPipeline
import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import Synchronization
import TestSupport
import Testing

/// Who may work on a delivery, and what counts of that.
struct LeaseTests {
    private func started(_ engine: any StorageEngine, _ changes: Int = 1) async throws -> TestStore {
        try await started(try TestStore(engine: engine), changes)
    }

    private func started(_ test: TestStore, _ changes: Int = 1) async throws -> TestStore {
        test.store.routeEvents(documents: [try .init("f", .written, "a/{id}")])
        for number in 0..<changes { try await test.set("a/d\(number)", [:]) }
        return test
    }

    private func started(_ kind: EngineKind) async throws -> TestStore {
        try await started(try TestStore(kind))
    }

    private func count(_ test: TestStore) async throws -> Value? { try await test.get("counters/c")?.fields["n"] }

    private var increment: Write {
        get throws {
            Write(
                path: try DocumentPath("counters/c"), operation: .update([:], mask: []),
                transforms: [FieldTransform(try FieldPath("n"), .increment(.integer(1)))])
        }
    }

    @Test func oneAtATimeHasADelivery() async throws {
        try await withStore(await started(MemoryEngine())) { test in
            let lease = try await test.take("f")
            #expect(test.store.outbox.lease(lease.id) == nil)
            test.store.outbox.release(lease)
            let second = try #require(test.store.outbox.lease(lease.id))
            // What was let go of ends nothing of its successor's.
            test.store.outbox.release(lease)
            #expect(try await test.end(lease) == 0)
            #expect(test.store.outbox.lease(lease.id) == nil)
            #expect(try await test.end(second) == 1)
            #expect(try await test.due("f").isEmpty)
        }
    }

    @Test func nothingCountsUnderALeaseThatWasTakenBack() async throws {
        try await withStore(await started(MemoryEngine())) { test in
            let lease = try await test.take("f")
            let context = OperationContext(delivery: lease)
            try await test.commit([try increment], context: context)
            test.store.outbox.revoke(lease)
            for answer in [nil, [UInt8(1)]] {
                let error = await refusal {
                    try await test.commit([try increment], effects: [], completing: answer, context: context)
                }
                #expect(error?.code == .failedPrecondition)
            }
            // It stays taken until it is ended.
            #expect(test.store.outbox.lease(lease.id) == nil)
            try await test.end(lease, .retry(at: test.clock.timestamp(), DeliveryFailure("too slow")))
            #expect(try await count(test) == .integer(1))
            #expect(try await test.due("f").map(\.delivery.failedAttempts) == [1])
        }
    }

    @Test(arguments: EngineKind.allCases) func aCommitWithAnAnswerEndsTheDelivery(kind: EngineKind) async throws {
        try await withStore(await started(kind)) { test in
            let lease = try await test.take("f")
            let context = OperationContext(delivery: lease)
            try await test.commit([try increment], effects: [], completing: [1], context: context)
            #expect(try test.outboxRows() == 0)
            #expect(try await test.end(lease, .dead(DeliveryFailure("late"))) == 0)
            #expect(try await test.dead().isEmpty)
            let again = await refusal {
                try await test.commit([try increment], effects: [], completing: [1], context: context)
            }
            #expect(again?.code == .failedPrecondition)
            #expect(try await count(test) == .integer(1))
        }
    }

    /// One that wrote nothing ends it as well.
    @Test func anAnswerAloneEndsTheDelivery() async throws {
        try await withStore(await started(MemoryEngine())) { test in
            let lease = try await test.take("f")
            try await test.commit([], effects: [], completing: [], context: OperationContext(delivery: lease))
            #expect(try test.outboxRows() == 0)
            #expect(test.store.outbox.lease(lease.id) != nil)
        }
    }

    /// A page of what is due that was read before may still name a delivery that has ended since.
    @Test func aDeliveryThatIsGoneIsNotDoneAgain() async throws {
        try await withStore(await started(MemoryEngine())) { test in
            let lease = try await test.take("f")
            try await test.commit(
                [try increment], effects: [], completing: [1], context: OperationContext(delivery: lease))
            let late = try #require(test.store.outbox.lease(lease.id))
            let error = await refusal {
                try await test.commit(
                    [try increment], effects: [], completing: [1], context: OperationContext(delivery: late))
            }
            #expect(error?.code == .failedPrecondition)
            #expect(try await count(test) == .integer(1))
            #expect(try await test.end(late) == 0)
            #expect(test.store.outbox.lease(lease.id) != nil)
        }
    }

    /// What ends a lease ends it for those behind it in the same batch.
    @Test func inOneBatchTheFirstEndCounts() async throws {
        let engine = MemoryEngine()
        let prepared = try await started(engine, 2)
        let ids = try await prepared.due("f").map(\.delivery.id)
        await prepared.store.shutdown()
        let store = try DocumentStore(engine: engine, now: prepared.clock.timestamp)
        let leases = try ids.map { try #require(store.outbox.lease($0)) }
        let answers = Mutex<[String]>([])
        func commit(_ lease: DeliveryLease) throws {
            store.submit([try increment], completing: [1], in: OperationContext(delivery: lease)) { answer in
                answers.withLock {
                    if case .failure(let error) = answer { $0.append("\(error.code)") } else { $0.append("committed") }
                }
            }
        }
        func end(_ lease: DeliveryLease, _ outcome: DeliveryOutcome) {
            store.outbox.end(lease, outcome) { answer in answers.withLock { $0.append("\((try? answer.get()) ?? -1)") }
            }
        }
        let failure = DeliveryFailure("no")
        try commit(leases[0])
        try commit(leases[0])
        end(leases[0], .dead(failure))
        end(leases[1], .retry(at: prepared.clock.timestamp(), failure))
        end(leases[1], .retry(at: prepared.clock.timestamp(), failure))
        try commit(leases[1])
        try store.start()
        await store.shutdown()
        #expect(
            answers.withLock { $0.sorted() }
                == ["0", "0", "1", "committed", "\(StatusCode.failedPrecondition)", "\(StatusCode.failedPrecondition)"])
        let reopened = try TestStore(engine: engine)
        #expect(try await count(reopened) == .integer(1))
        #expect(try await reopened.due("f").map(\.delivery.failedAttempts) == [1])
        await reopened.store.shutdown()
    }

    @Test func aFailedBatchLeavesTheLease() async throws {
        let engine = FailingEngine()
        try await withStore(await started(engine, 2)) { test in
            let other = try #require(try await test.due("f").last).delivery.id
            let lease = try await test.take("f")
            let context = OperationContext(delivery: lease)
            engine.fails.withLock { $0 = true }
            #expect(await refusal { try await test.end(lease) }?.code == .unavailable)
            let error = await refusal {
                try await test.commit([try increment], effects: [], completing: [1], context: context)
            }
            #expect(error?.code == .unavailable)
            #expect(await refusal { _ = try await test.store.outbox.drop([lease.id, other]) }?.code == .unavailable)
            engine.fails.withLock { $0 = false }
            #expect(test.store.outbox.lease(lease.id) == nil)
            // The delivery that was to be dropped has no lease again.
            #expect(test.store.outbox.lease(other) != nil)
            try await test.commit([try increment], effects: [], completing: [1], context: context)
            #expect(try await count(test) == .integer(1))
            #expect(try await test.due("f").map(\.delivery.id) == [other])
        }
    }

    @Test func aRefusedCommitLeavesTheDelivery() async throws {
        try await withStore(await started(MemoryEngine())) { test in
            let lease = try await test.take("f")
            let write = Write(path: try DocumentPath("x/y"), operation: .set([:]), precondition: .exists(true))
            let error = await refusal {
                try await test.commit([write], effects: [], completing: [1], context: OperationContext(delivery: lease))
            }
            #expect(error?.code == .notFound)
            #expect(try await test.due("f").count == 1)
            #expect(test.store.outbox.lease(lease.id) == nil)
        }
    }

    @Test func endsThatWaitShareOneBatch() async throws {
        let engine = FailingEngine()
        let prepared = try await started(engine, 64)
        let ids = try await prepared.due("f").map(\.delivery.id)
        await prepared.store.shutdown()
        let store = try DocumentStore(engine: engine, now: prepared.clock.timestamp)
        let batches = Mutex<Set<Int>>([])
        for id in ids {
            store.outbox.end(try #require(store.outbox.lease(id)), .succeeded) { _ in
                batches.withLock { _ = $0.insert(engine.batches.load(ordering: .relaxed)) }
            }
        }
        try store.start()
        await store.shutdown()
        #expect(batches.withLock { $0.count } == 1)
        let reopened = try TestStore(engine: engine)
        #expect(try reopened.outboxRows() == 0)
        await reopened.store.shutdown()
    }
}
