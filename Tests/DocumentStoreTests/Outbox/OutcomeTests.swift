@testable import CommitPipeline
import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import Synchronization
import TestSupport
import Testing

/// What happens to deliveries: after an attempt, by the operator, and in loops.
struct OutcomeTests {
    private func started(_ kind: EngineKind = .memory, maxDepth: Int = 16) async throws -> TestStore {
        let test = try TestStore(kind)
        test.store.routeEvents(
            by: EventRoutes(maxDepth: maxDepth), documents: [try .init("f", .written, "a/{id}")])
        return test
    }

    @Test(arguments: EngineKind.allCases) func aFailedTryIsNotedAndTriedAgain(kind: EngineKind) async throws {
        try await withStore(await started(kind)) { test in
            try await test.set("a/b", [:])
            let news = NewsLog(test.store)
            let (began, again) = (test.clock.timestamp(), test.clock.timestamp().adding(seconds: 10))
            let lease = try await test.take("f")
            let failure = DeliveryFailure("the index is out of range", status: 500)
            #expect(try await test.end(lease, .retry(at: again, failure), firstAttempt: began) == 1)
            #expect(news.take().flatMap(\.later).map(\.due) == [again])
            let page = try await test.store.outbox.dueDeliveries(
                of: "f", at: test.clock.timestamp(), except: [], limit: 10, maxBytes: 1000)
            #expect(page.deliveries.isEmpty)
            #expect(page.nextDue == again)
            test.clock.advance(seconds: 10)
            var delivery = try #require(try await test.due("f").first).delivery
            #expect(delivery.failedAttempts == 1)
            #expect(delivery.executions == 1)
            #expect(delivery.lastError == "the index is out of range")
            #expect(delivery.lastStatus == 500)
            #expect(delivery.firstAttempt == began)
            // The process ended before the handler did, so the first attempt doesn't count.
            let crash = DeliveryFailure("the worker ended", wasExecuted: false)
            try await test.end(
                test.take("f"), .retry(at: test.clock.timestamp(), crash), firstAttempt: test.clock.timestamp())
            delivery = try #require(try await test.due("f").first).delivery
            #expect([delivery.failedAttempts, delivery.executions] == [2, 1])
            #expect(delivery.firstAttempt == began)
            #expect(delivery.lastStatus == nil)
        }
    }

    @Test(arguments: EngineKind.allCases) func aDeadLetterKeepsItsEventUntilItIsRetried(kind: EngineKind) async throws {
        try await withStore(await started(kind)) { test in
            try await test.set("a/b", ["n": .integer(1)])
            let event = try #require(try await test.due("f").first).event
            try await test.end(test.take("f"), .dead(DeliveryFailure(String(repeating: "é", count: 5000))))
            #expect(try await test.due("f").isEmpty)
            let letter = try #require(try await test.dead().first)
            #expect(letter.state == .dead(test.clock.timestamp()))
            #expect(letter.lastError?.utf8.count ?? 0 <= 4100)
            #expect(try await test.store.outbox.delivery(letter.id)?.event == event)
            #expect(try await test.deadLetter([letter.id], because: "again") == 0)
            #expect(try await test.store.outbox.requeue([letter.id]) == 1)
            let again = try #require(try await test.due("f").first)
            #expect(again.event == event)
            #expect(again.delivery.failedAttempts == 0)
            #expect(try await test.dead().isEmpty)
            try await test.end(test.take("f"))
            #expect(try test.outboxRows() == 0)
        }
    }

    @Test(arguments: EngineKind.allCases) func whatIsRetriedByHandBeginsAnewInMemoryToo(kind: EngineKind) async throws {
        try await withStore(await started(kind)) { test in
            try await test.set("a/b", [:])
            try await test.end(test.take("f"), .retry(at: test.clock.timestamp(), DeliveryFailure("it broke")))
            let tried = try #require(try await test.due("f").first).delivery
            #expect(tried.failedAttempts == 1)
            #expect(tried.ageStart == tried.created)
            test.clock.advance(seconds: 60)
            let news = NewsLog(test.store)
            #expect(try await test.store.outbox.requeue([tried.id]) == 1)
            let reported = try #require(news.take().first)
            #expect(reported.withdrawn == [tried.id])
            #expect(reported.later.map(\.due) == [test.clock.timestamp()])
            let anew = try #require(try await test.due("f").first).delivery
            #expect(anew.failedAttempts == 0)
            #expect(anew.ageStart == test.clock.timestamp())
            #expect(try test.problems().isEmpty)
            try await test.end(test.take("f"))
            #expect(try test.outboxRows() == 0)
        }
    }

    @Test func handsLeaveAloneWhatIsWorkedOn() async throws {
        try await withStore(await started()) { test in
            for number in 0..<3 { try await test.set("a/d\(number)", [:]) }
            let ids = try await test.due("f").map(\.delivery.id)
            let lease = try #require(test.store.outbox.lease(ids[1]))
            let news = NewsLog(test.store)
            #expect(try await test.store.outbox.drop([ids[0], ids[1]]) == 1)
            #expect(try await test.deadLetter([ids[1], ids[2]], because: "old") == 1)
            #expect(news.take().map(\.withdrawn) == [[ids[0]], [ids[2]]])
            #expect(try await test.store.outbox.requeue(ids) == 1)
            #expect(try await test.due("f").map(\.delivery.id) == [ids[1], ids[2]])
            // What was done by hand can be worked on again.
            #expect(test.store.outbox.lease(ids[2]) != nil)
            #expect(try await test.end(lease) == 1)
        }
    }

    /// A sweep reads old deliveries and then dead-letters them; an operator may requeue some in between.
    @Test(arguments: EngineKind.allCases) func whatWasRequeuedSinceItWasReadIsNotDeadLettered(
        kind: EngineKind
    ) async throws {
        try await withStore(await started(kind)) { test in
            for number in 0..<2 { try await test.set("a/d\(number)", [:]) }
            let read = try await test.due("f").map(\.delivery)
            test.clock.advance(seconds: 60)
            #expect(try await test.store.outbox.requeue([read[0].id]) == 1)
            #expect(try await test.store.outbox.deadLetter(read, because: "old") == 1)
            #expect(try await test.due("f").map(\.delivery.id) == [read[0].id])
            #expect(try await test.dead().map(\.id) == [read[1].id])
            #expect(try test.problems().isEmpty)
        }
    }

    /// An operator drops dead letters that are read first; another one may requeue some in between.
    @Test(arguments: EngineKind.allCases) func whatHasChangedSinceItWasReadIsNotDropped(kind: EngineKind) async throws {
        try await withStore(await started(kind)) { test in
            for number in 0..<4 { try await test.set("a/d\(number)", [:]) }
            let ids = try await test.due("f").map(\.delivery.id)
            #expect(try await test.deadLetter(Array(ids[0...1]), because: "it broke") == 2)
            let (dead, pending) = (try await test.dead(), try await test.due("f").map(\.delivery))
            test.clock.advance(seconds: 60)
            #expect(try await test.store.outbox.requeue([ids[0]]) == 1)
            #expect(try await test.store.outbox.drop(unchanged: dead) == 1)
            #expect(try await test.dead().isEmpty)
            #expect(try await test.deadLetter([ids[2]], because: "it broke") == 1)
            #expect(try await test.store.outbox.drop(unchanged: pending) == 1)
            #expect(try await test.due("f").map(\.delivery.id) == [ids[0]])
            #expect(try await test.dead().map(\.id) == [ids[2]])
            #expect(try test.problems().isEmpty)
        }
    }

    @Test func manyAreDoneInParts() async throws {
        try await withStore(await started()) { test in
            try await test.commit((0..<499).map { Write(path: try DocumentPath("a/d\($0)"), operation: .set([:])) })
            try await test.commit((499..<998).map { Write(path: try DocumentPath("a/d\($0)"), operation: .set([:])) })
            try await test.commit((998..<1234).map { Write(path: try DocumentPath("a/d\($0)"), operation: .set([:])) })
            let ids = try await test.due("f", limit: 2000, maxBytes: 1 << 30).map(\.delivery.id)
            #expect(ids.count == 1234)
            #expect(try await test.deadLetter(ids, because: "too old") == 1234)
            #expect(try await test.store.outbox.requeue(ids) == 1234)
            #expect(try await test.store.outbox.drop(ids) == 1234)
            #expect(try await test.store.outbox.drop(ids) == 0)
            #expect(try test.outboxRows() == 0)
        }
    }

    @Test(arguments: EngineKind.allCases) func aLoopStopsAndNamesItsFunctions(kind: EngineKind) async throws {
        try await withStore(await started(kind, maxDepth: 4)) { test in
            let news = NewsLog(test.store)
            try await test.set("a/b", ["n": .integer(0)])
            var handled = 0
            while let stored = try await test.due("f").first {
                let event = try Event(decoding: stored.event)
                let lease = try #require(test.store.outbox.lease(stored.delivery.id))
                handled += 1
                try await test.commit(
                    [test.write("a/b", Int64(handled))], effects: [], completing: [1],
                    context: OperationContext(chain: event.chain + ["f"], delivery: lease))
                try #require(handled < 50)
            }
            #expect(handled == 4)
            let letter = try #require(try await test.dead().first)
            let reason = "events have led from function to function 4 times, the limit: f → f → f → f → f"
            #expect(letter.lastError == reason)
            #expect(news.take().flatMap(\.dead) == [letter])
            #expect(try test.problems().isEmpty)
        }
    }

    @Test(arguments: EngineKind.allCases) func recordsAndRunsAreKeptTogether(kind: EngineKind) async throws {
        try await withStore(await started(kind)) { test in
            let due = test.clock.timestamp().adding(seconds: -30)
            try await test.store.outbox.keep([("schedule/nightly", [1]), ("schedule/weekly", [2]), ("pause/f", [3])])
            #expect(
                try await test.store.outbox.keep(
                    [("schedule/nightly", [4]), ("schedule/weekly", nil)],
                    runs: [
                        ScheduledRun(function: "nightly", due: due),
                        ScheduledRun(function: "nightly", due: due, isManual: true),
                    ]
                )
                .map(\.ordinal) == [0, 1])
            #expect(try await test.store.outbox.records(startingWith: "schedule/").map(\.name) == ["schedule/nightly"])
            #expect(try await test.store.outbox.records(startingWith: "").map(\.value) == [[3], [4]])
            let events = try await test.due("nightly").map { try Event(decoding: $0.event) }
            #expect(
                events.map(\.content) == [
                    .schedule(job: "nightly", isManual: false), .schedule(job: "nightly", isManual: true),
                ])
            #expect(events.map(\.time) == [due, due])
            #expect(events.map(\.auth) == [EventAuth(.system), EventAuth(.system)])
            // No commit has an event's name.
            try await test.set("a/b", [:])
            let names = try await test.due("nightly").map(\.delivery.id.event) + test.due("f").map(\.delivery.id.event)
            #expect(Set(names).count == 3)
            #expect(try test.problems().isEmpty)
        }
    }

    @Test func aFailedBatchKeepsNeitherRecordsNorRuns() async throws {
        let engine = FailingEngine()
        try await withStore(engine: engine) { test async throws -> Void in
            engine.fails.withLock { $0 = true }
            let error = await refusal {
                try await test.store.outbox.keep(
                    [("schedule/x", [1])], runs: [ScheduledRun(function: "x", due: test.clock.timestamp())])
            }
            #expect(error?.code == .unavailable)
            engine.fails.withLock { $0 = false }
            #expect(try await test.store.outbox.records(startingWith: "").isEmpty)
            #expect(try await test.due("x").isEmpty)
        }
    }
}
