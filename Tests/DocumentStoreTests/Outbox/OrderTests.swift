@testable import CommitPipeline
import TestSupport
import StoreTestSupport
import StorageEngine
import Synchronization
import DocumentModel
@testable import DocumentStore
import Testing

/// The changes of one document, one at a time.
struct OrderTests {
    private func started(_ engine: any StorageEngine) throws -> TestStore {
        let test = try TestStore(engine: engine)
        try route(test)
        return test
    }

    private func route(_ test: TestStore) throws {
        test.store.routeEvents(
            documents: [
                try .init("f", .written, "a/{id}", isOrdered: true), try .init("free", .written, "a/{id}"),
            ])
    }

    private func started(_ kind: EngineKind, _ numbers: ClosedRange<Int64> = 1...4) async throws -> TestStore {
        let test = try TestStore(kind)
        try route(test)
        for number in numbers { try await test.set("a/x", ["n": .integer(number)]) }
        return test
    }

    private let failure = DeliveryFailure("no")

    @Test(arguments: EngineKind.allCases) func oneDocumentsChangesComeOneAtATime(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            try await test.set("a/y", ["n": .integer(9)])
            #expect(try await test.delivered("free").count == 5)
            #expect(try await test.delivered("f") == ["a/x >1", "a/y >9"])
            let news = NewsLog(test.store)
            for expected in ["a/x >1", "a/x 1>2", "a/x 2>3", "a/x 3>4"] {
                #expect(try await test.delivered("f").contains(expected))
                let lease = try await lease(expected, test)
                #expect(try await test.delivered("f").count == 2)
                try await test.end(lease)
            }
            #expect(news.take().flatMap(\.due).map(\.delivery.id.function) == ["f", "f", "f"])
            #expect(try await test.delivered("f") == ["a/y >9"])
            #expect(try test.problems().isEmpty)
        }
    }

    private func lease(_ text: String, _ test: TestStore) async throws -> DeliveryLease {
        let position = try #require(try await test.delivered("f").firstIndex(of: text))
        return try #require(test.store.outbox.lease(try await test.due("f")[position].delivery.id))
    }

    @Test(arguments: EngineKind.allCases) func theOthersWaitThroughRetriesAndGoOnAfterDeath(
        kind: EngineKind
    ) async throws {
        try await withStore(started(kind)) { test in
            try await test.end(test.take("f"), .retry(at: test.clock.timestamp().adding(seconds: 60), failure))
            #expect(try await test.delivered("f").isEmpty)
            test.clock.advance(seconds: 61)
            #expect(try await test.delivered("f") == ["a/x >1"])
            try await test.end(test.take("f"), .dead(failure))
            #expect(try await test.delivered("f") == ["a/x 1>2"])
            try await test.end(test.take("f"), .dropped(DeliveryFailure("it broke")))
            #expect(try await test.delivered("f") == ["a/x 2>3"])
            #expect(try test.problems().isEmpty)
        }
    }

    /// Who waits for the end of a run, or counts from it, has heard of it already.
    @Test(arguments: EngineKind.allCases) func aDeadLetterThatIsDroppedHasEndedBefore(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            let ends = Mutex(0)
            test.store.outbox.onEnds { new in ends.withLock { $0 += new.count } }
            try await test.end(test.take("f"), .dead(failure))
            #expect(ends.withLock { $0 } == 1)
            #expect(try await test.store.outbox.drop(test.dead().map(\.id)) == 1)
            #expect(try await test.dead().isEmpty)
            #expect(ends.withLock { $0 } == 1)
        }
    }

    @Test(arguments: EngineKind.allCases) func aDeadLetterThatIsRetriedComesFirst(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            for _ in 1...2 { try await test.end(test.take("f"), .dead(failure)) }
            #expect(try await test.delivered("f") == ["a/x 2>3"])
            let letters = try await test.dead().map(\.id)
            let news = NewsLog(test.store)
            #expect(try await test.store.outbox.requeue([letters[1]]) == 1)
            #expect(try await test.delivered("f") == ["a/x 1>2"])
            // Who knew of the third from before hears that it waits again.
            #expect(news.take().flatMap(\.withdrawn).count == 1)
            #expect(try await test.store.outbox.requeue([letters[0]]) == 1)
            for expected in ["a/x >1", "a/x 1>2", "a/x 2>3", "a/x 3>4"] {
                #expect(try await test.delivered("f") == [expected])
                #expect(try test.problems().isEmpty)
                try await test.end(test.take("f"))
            }
            #expect(try await test.delivered("f").isEmpty)
        }
    }

    @Test(arguments: EngineKind.allCases) func aDeadLetterWaitsForTheOneThatIsWorkedOn(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            for _ in 1...2 { try await test.end(test.take("f"), .dead(failure)) }
            let lease = try await test.take("f")
            for letter in try await test.dead().reversed() {
                #expect(try await test.store.outbox.requeue([letter.id]) == 1)
            }
            // The third is worked on, so none of the others is due.
            #expect(try await test.delivered("f") == ["a/x 2>3"])
            #expect(try test.problems().isEmpty)
            // It fails: those that came before it are first now.
            try await test.end(lease, .retry(at: test.clock.timestamp(), failure))
            for expected in ["a/x >1", "a/x 1>2", "a/x 2>3", "a/x 3>4"] {
                #expect(try await test.delivered("f") == [expected])
                #expect(try test.problems().isEmpty)
                try await test.end(test.take("f"))
            }
        }
    }

    /// A later one is worked on, and fails in the same batch before that.
    @Test func aDeadLetterThatIsRetriedBesideTheEndOfAnAttemptComesFirst() async throws {
        var commits = CommitConfiguration()
        (commits.joinLimit, commits.groupLimit) = (.seconds(1000), .seconds(1000))
        let test = try TestStore(.memory, commits: commits)
        try route(test)
        try await withStore(test) { test in
            for number in 1...2 as ClosedRange<Int64> { try await test.set("a/x", ["n": .integer(number)]) }
            try await test.end(test.take("f"), .dead(failure))
            let letter = try #require(try await test.dead("f").first?.id)
            let lease = try await test.take("f")
            let later = test.clock.timestamp().adding(seconds: 60)
            let requeued: Result<Int, DocumentError> = await withCheckedContinuation { continuation in
                let jobs = [
                    OutboxJob(work: .end(lease, .retry(at: later, failure), firstAttempt: nil)) { _ in },
                    OutboxJob(work: .requeue([letter])) { continuation.resume(returning: $0) },
                ]
                _ = test.store.pipeline.submit(Submission(outbox: test.store.outbox, jobs: jobs))
            }
            #expect(try requeued.get() == 1)
            for expected in ["a/x >1", "a/x 1>2"] {
                #expect(try await test.delivered("f") == [expected])
                #expect(try test.problems().isEmpty)
                try await test.end(test.take("f"))
            }
        }
    }

    /// Submits jobs from its batch, so that they join it.
    private struct Submission: CommitJob {
        let outbox: Outbox
        let jobs: [OutboxJob]

        func run(in batch: CommitBatch) { for job in jobs { outbox.submit(job) } }
        func fail(_ error: DocumentError) { for job in jobs { job.fail(error) } }
    }

    @Test(arguments: EngineKind.allCases) func handworkOnThoseThatWaitLeavesTheTurn(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            let ids = try await test.store.outbox.deliveries(areDead: false, function: "f", limit: 10).map(\.id)
            let lease = try await test.take("f")
            #expect(try await test.store.outbox.requeue(ids) == 3)
            #expect(try await test.delivered("f") == ["a/x >1"])
            #expect(try await test.store.outbox.drop([ids[1]]) == 1)
            #expect(try await test.deadLetter([ids[2]], because: "old") == 1)
            #expect(try await test.delivered("f") == ["a/x >1"])
            #expect(try test.problems().isEmpty)
            try await test.end(lease)
            #expect(try await test.delivered("f") == ["a/x 3>4"])
            #expect(try await test.dead().map(\.lastError) == ["old"])
            #expect(try await test.store.outbox.drop([ids[3]]) == 1)
            #expect(try await test.delivered("f").isEmpty)
            // The ordering queue is empty, so the next delivery is its first.
            try await test.set("a/x", ["n": .integer(5)])
            #expect(try await test.delivered("f") == ["a/x 4>5"])
            #expect(try test.problems().isEmpty)
        }
    }

    @Test(arguments: EngineKind.allCases) func theOrderSurvivesARestart(kind: EngineKind) async throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        let test = try started(engine)
        for number in 1...3 as ClosedRange<Int64> { try await test.set("a/x", ["n": .integer(number)]) }
        try await test.end(test.take("f"))
        _ = try await test.take("f")
        await test.store.shutdown()
        let reopened = try started(engine)
        try await reopened.set("a/x", ["n": .integer(4)])
        for expected in ["a/x 1>2", "a/x 2>3", "a/x 3>4"] {
            #expect(try await reopened.delivered("f") == [expected])
            try await reopened.end(reopened.take("f"))
        }
        await reopened.store.shutdown()
        withExtendedLifetime(directory) {}
    }

    /// Its turn came while the clock was ahead.
    @Test func theNextOneDoesNotWaitForAClockThatWasSetBack() async throws {
        try await withStore(started(.memory, 1...2)) { test in
            test.clock.advance(seconds: 1)
            let right = test.clock.timestamp()
            test.clock.setWall(right.adding(seconds: 86_400))
            try await test.end(test.take("f"))
            test.clock.setWall(right)
            #expect(try await test.delivered("f").isEmpty)
            let latest = right.adding(seconds: 60)
            #expect(try await test.store.outbox.makeDue("f", notAfter: latest) == 1)
            #expect(try await test.delivered("f") == ["a/x 1>2"])
            #expect(try await test.store.outbox.makeDue("f", notAfter: latest) == 0)
            #expect(try test.problems().isEmpty)
        }
    }

    /// What a failed batch did to the queue didn't happen.
    @Test func afterAFailedBatchTheTurnIsAsBefore() async throws {
        let engine = FailingEngine()
        let test = try started(engine)
        try await withStore(test) { test in
            try await test.set("a/x", ["n": .integer(1)])
            let lease = try await test.take("f")
            engine.fails.withLock { $0 = true }
            await #expect(throws: DocumentError.self) { try await test.end(lease) }
            engine.fails.withLock { $0 = false }
            try await test.set("a/x", ["n": .integer(2)])
            #expect(try await test.delivered("f") == ["a/x >1"])
            #expect(try test.problems().isEmpty)
        }
    }

    /// Places that are gone are found again once they are repaired.
    @Test(arguments: EngineKind.allCases) func afterARepairTheTurnIsThatOfTheRows(kind: EngineKind) async throws {
        try await withStore(started(kind, 1...2)) { test in
            let all = try await test.store.outbox.deliveries(areDead: false, function: "f", limit: 10)
            try test.store.engine.write { writer in
                for delivery in all {
                    let queue = try #require(delivery.orderingQueue)
                    try writer.delete(.deliveries, queue + OutboxKey.event(delivery.id.event))
                }
            }
            // As if it were the first.
            try await test.set("a/x", ["n": .integer(3)])
            #expect(try await test.delivered("f") == ["a/x >1", "a/x 2>3"])
            #expect(try await test.store.outbox.repair() > 0)
            #expect(try test.problems().isEmpty)
            for expected in ["a/x >1", "a/x 1>2", "a/x 2>3"] {
                #expect(try await test.delivered("f") == [expected])
                try await test.end(test.take("f"))
            }
        }
    }

    /// Keys that this program didn't write hide nothing.
    @Test(arguments: EngineKind.allCases) func placesThatAreNoneAreSkipped(kind: EngineKind) async throws {
        try await withStore(started(kind, 1...3)) { test in
            let first = try #require(try await test.due("f").first?.delivery)
            let queue = try #require(first.orderingQueue)
            try test.store.engine.write { writer in
                // It comes first, and its end is a later event's.
                let late = OutboxKey.event(EventID(version: .max - 1, ordinal: 0))
                try writer.put(.deliveries, queue + [0] + late, [])
                try writer.put(
                    .deliveries, OutboxKey.due(of: "f").lower + [0, 0] + [UInt8](repeating: 0xFF, count: 20), [])
                try writer.put(.deliveries, OutboxKey.due(of: "f").lower + [0, 0], [])
            }
            let counts = try await test.store.outbox.counts()
            #expect(counts.map(\.function) == ["f", "free"])
            #expect(counts.map(\.firstDue) == [first.due, first.due])
            #expect(counts[0].oldest == first.created)
            for expected in ["a/x >1", "a/x 1>2", "a/x 2>3"] {
                #expect(try await test.delivered("f") == [expected])
                try await test.end(test.take("f"))
            }
            #expect(try test.problems().count == 3)
        }
    }

    /// A commit that ends a delivery and changes its document again, as a transactional handler may.
    @Test func aHandlerMayChangeItsOwnDocument() async throws {
        try await withStore(started(.memory, 1...2)) { test in
            let lease = try await test.take("f")
            try await test.commit(
                [test.write("a/x", 3)], effects: [], completing: [1], context: OperationContext(delivery: lease))
            for expected in ["a/x 1>2", "a/x 2>3"] {
                #expect(try await test.delivered("f") == [expected])
                try await test.end(test.take("f"))
            }
            #expect(try test.problems().isEmpty)
        }
    }

    /// Whatever is done with them, in whatever order: one document has one delivery due, and no change is lost.
    @Test(arguments: 0..<20) func anyHandworkKeepsOneAtATime(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        try await withStore(started(MemoryEngine())) { test in
            var leases: [DeliveryLease] = []
            for step in 0..<150 as Range<Int64> {
                let all = try await test.store.outbox.deliveries(areDead: false, function: "f", limit: 100).map(\.id)
                let dead = try await test.dead("f").map(\.id)
                switch Int.random(in: 0..<9, using: &random) {
                case 0, 1: try await test.set("a/x", ["n": .integer(step)])
                case 2, 3:
                    if let due = try await test.due("f").first, let lease = test.store.outbox.lease(due.delivery.id) {
                        leases.append(lease)
                    }
                case 4, 5:
                    guard let lease = leases.popLast() else { continue }
                    let outcomes: [DeliveryOutcome] = [
                        .succeeded, .retry(at: test.clock.timestamp(), failure), .dead(failure), .dead(failure),
                    ]
                    try await test.end(lease, outcomes[Int.random(in: 0..<4, using: &random)])
                case 6: if let lease = leases.popLast() { test.store.outbox.release(lease) }
                case 7: if let id = dead.randomElement(using: &random) { _ = try await test.store.outbox.requeue([id]) }
                default:
                    guard let id = all.randomElement(using: &random) else { continue }
                    if Bool.random(using: &random) {
                        _ = try await test.deadLetter([id], because: "by hand")
                    } else {
                        _ = try await test.store.outbox.requeue([id])
                    }
                }
                let left = try await test.store.outbox.deliveries(areDead: false, function: "f", limit: 100)
                #expect(left.count { $0.due != nil } == (left.isEmpty ? 0 : 1), "step \(step)")
                #expect(leases.count <= 1)
            }
            #expect(try test.problems().isEmpty)
        }
    }
}
