import Sharing
@testable import CommitPipeline
import HostTesting
import DocumentModel
import FunctionManifest
import DocumentStore
@testable import EventDispatch
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

@Suite(.endsHangs) struct EventServiceTests {
    private let quick = EventRetryManifest(minBackoffSeconds: 10, maxBackoffSeconds: 600, maxAttempts: 3)

    @Test func aCommitStartsItsTriggerAndSuccessEndsTheDelivery() async throws {
        let ring = try await DispatcherRing([.created("f")])
        try await ring.set("items/1")
        let launcher = try ring.launcher("f")
        let start = await launcher.next()
        #expect(try start.subject == "1")
        #expect(ring.service.isInFlight(start.id))
        launcher.end(start)
        #expect(try await ring.pending("f").isEmpty)
        #expect(try await ring.dead("f").isEmpty)
        #expect(!ring.service.isInFlight(start.id))
        #expect(try ring.counters("f").attempts == 1)
        #expect(try ring.counters("f").latency.count == 1)
    }

    @Test func deliveriesOfBeforeAreStartedAtTheStart() async throws {
        let first = try await DispatcherRing([.created("f")], begins: false)
        for number in 1...3 { try await first.set("items/\(number)") }
        let second = try await DispatcherRing([.created("f")], after: first)
        let launcher = try second.launcher("f")
        var subjects: [String] = []
        for _ in 1...3 { subjects.append(try await launcher.next().subject) }
        #expect(subjects == ["1", "2", "3"])
    }

    /// Also those that are made again from dead letters.
    @Test(arguments: [false, true]) func runsOfAJobOverlapOnlyIfItSaysSo(overlaps: Bool) {
        let job = FunctionManifest.test(
            "job",
            .schedule(
                .init(
                    schedule: "every 24 hours", timeZone: "UTC", retryCount: 0, maxRetrySeconds: 0,
                    minBackoffSeconds: 5,
                    maxBackoffSeconds: 3600, maxDoublings: 5, overlaps: overlaps)))
        #expect(job.maxConcurrentDeliveries == (overlaps ? 100 : 1))
    }

    @Test func withoutRetryAFailureDropsTheEvent() async throws {
        let ring = try await DispatcherRing([.created("f")])
        try await ring.set("items/1")
        let launcher = try ring.launcher("f")
        launcher.end(await launcher.next(), .failed(.broken))
        #expect(try await ring.pending("f").isEmpty)
        #expect(try await ring.dead("f").isEmpty)
        #expect(try ring.counters("f").dropped == 1)
    }

    @Test func aTryThatHasCommittedBeforeItWasLostIsNoFailure() async throws {
        let ring = try await DispatcherRing([.created("f")])
        try await ring.set("items/1")
        let launcher = try ring.launcher("f")
        let start = await launcher.next()
        _ = try await ring.store.commit([], completing: [], in: OperationContext(delivery: start.lease)).result
        launcher.end(start, .failed(.broken))
        #expect(try await ring.pending("f").isEmpty)
        let counters = try ring.counters("f")
        #expect((counters.attempts, counters.failures, counters.dropped) == (1, 0, 0))
    }

    @Test func aFunctionThatComesBackKnowsWhatOfItStillRuns() async throws {
        let ring = try await DispatcherRing([.created("f")])
        try await ring.set("items/1")
        let launcher = try ring.launcher("f")
        let first = await launcher.next()
        let function = EventService.Function(
            manifest: .created("f"), gate: try #require(ring.gates["f"]), launcher: launcher)
        try ring.service.serve([])
        // No function receives this.
        try await ring.set("items/2")
        try ring.service.serve([function])
        #expect(ring.service.isInFlight(first.id))
        try await ring.set("items/3")
        let second = await launcher.next()
        #expect(try second.subject == "3")
        launcher.end(first)
        launcher.end(second)
        #expect(try await ring.pending("f").isEmpty)
        #expect(launcher.count == 2)
    }

    @Test func whatWaitsForAFunctionThatIsGoneIsToldWhenItIsBack() async throws {
        let ring = try await DispatcherRing([.created("f", concurrency: 1)])
        for id in 1...2 { try await ring.set("items/\(id)") }
        let launcher = try ring.launcher("f")
        let first = await launcher.next()
        try ring.service.serve([])
        launcher.end(first)
        try await ring.written()
        #expect(launcher.count == 1)
        try ring.service.serve([
            EventService.Function(
                manifest: .created("f"), gate: try #require(ring.gates["f"]), launcher: launcher)
        ])
        #expect(try await launcher.next().subject == "2")
    }

    /// The release that would have handled it is replaced before a process is ready.
    @Test func whatIsDisplacedIsHandledByTheOtherReleaseUncounted() async throws {
        let ring = try await DispatcherRing([.created("f")], startsHandlers: false)
        try await ring.set("items/1")
        let launcher = try ring.launcher("f")
        let first = await launcher.next()
        let gate = try #require(ring.gates["f"])
        let other = ScriptedLauncher(gate)
        try ring.service.serve([EventService.Function(manifest: .created("f"), gate: gate, launcher: other)])
        launcher.end(first, .displaced)
        let second = await other.next()
        #expect(second.id == first.id)
        #expect(second.stored.delivery.failedAttempts == 0)
        other.end(second)
        #expect(try await ring.pending("f").isEmpty)
        let counters = try ring.counters("f")
        #expect((counters.attempts, counters.failures) == (1, 0))
    }

    @Test func anEventThatCannotBeReadIsADeadLetter() async throws {
        let ring = try await DispatcherRing([.created("f")])
        try await ring.set("items/1")
        let launcher = try ring.launcher("f")
        launcher.end(await launcher.next(), .failedForGood(DeliveryFailure("the event can't be read", status: 500)))
        #expect(try await ring.dead("f").first?.lastError == "the event can't be read")
    }

    @Test func whatCannotBeStartedWaitsUncounted() async throws {
        let ring = try await DispatcherRing([.created("f")])
        try await ring.set("items/1")
        let launcher = try ring.launcher("f")
        launcher.end(await launcher.next(), .notStarted("no process could be started"))
        #expect(try await ring.pending("f").first?.failedAttempts == 0)
        try #require(try await ring.unleased("f").count == 1)
        #expect(ring.service.queues["f"]?.failingSince == ring.clock.elapsed())
        ring.clock.advance(seconds: 1)
        launcher.end(await launcher.next())
        #expect(ring.service.queues["f"]?.failingSince == nil)
        #expect(try await ring.pending("f").isEmpty)
        #expect(try ring.counters("f").failures == 0)
    }

    /// An operator can't repair a delivery that is leased.
    @Test func aDeliveryThatCannotBeReadAnyMoreIsNotKeptLeased() async throws {
        let engine = MemoryEngine()
        let ring = try await DispatcherRing([.created("f")], on: engine)
        try await ring.set("items/1")
        let launcher = try ring.launcher("f")
        let start = await launcher.next()
        try engine.write { storage in
            let row = OutboxKey.pending(start.id)
            #expect(try storage.get(.deliveries, row) != nil)
            try storage.put(.deliveries, row, [255])
        }
        launcher.end(start)
        try await ring.written()
        #expect(!ring.service.isInFlight(start.id))
        #expect(ring.store.outbox.lease(start.id) != nil)
    }

    /// It may be the first of its document, and then the document's other changes wait for it.
    @Test(arguments: [StorageTable.deliveries, .events])
    func aDueDeliveryThatCannotBeReadIsSkippedAndNamed(table: StorageTable) async throws {
        let engine = MemoryEngine()
        let first = try await DispatcherRing([.created("f")], on: engine, begins: false)
        for number in 1...2 { try await first.set("items/\(number)") }
        let damaged = try #require(try await first.pending("f").first?.id)
        try engine.write { storage in
            let key = table == .events ? OutboxKey.event(damaged.event) : OutboxKey.pending(damaged)
            #expect(try storage.get(table, key) != nil)
            try storage.put(table, key, [255])
        }
        let log = LogLines()
        let ring = try await DispatcherRing([.created("f")], after: first, logger: log.logger)
        let launcher = try ring.launcher("f")
        for number in 2...3 {
            let start = await launcher.next()
            #expect(try start.subject == "\(number)")
            launcher.end(start)
            try await ring.set("items/\(number + 1)")
        }
        #expect(log.all == [Self.skipped(damaged, of: "f")])
    }

    @Test func eachDueDeliveryThatCannotBeReadIsNamedOnce() async throws {
        let engine = MemoryEngine()
        let first = try await DispatcherRing([.created("f")], on: engine, begins: false)
        for number in 1...3 { try await first.set("items/\(number)") }
        let damaged = try await first.pending("f").prefix(2).map(\.id)
        try engine.write { storage in
            for id in damaged { try storage.put(.deliveries, OutboxKey.pending(id), [255]) }
        }
        let log = LogLines()
        let ring = try await DispatcherRing([.created("f")], after: first, logger: log.logger)
        let launcher = try ring.launcher("f")
        for number in 3...4 {
            let start = await launcher.next()
            #expect(try start.subject == "\(number)")
            launcher.end(start)
            try await ring.set("items/\(number + 1)")
        }
        #expect(log.all == damaged.map { Self.skipped($0, of: "f") })
    }

    /// Its queue waits for it, so the log says which one it is.
    @Test(arguments: [StorageTable.deliveries, .events], [false, true])
    func aWaitingDeliveryThatCannotBeReadIsNamedWhenItIsNext(table: StorageTable, isMissing: Bool) async throws {
        let engine = MemoryEngine()
        let log = LogLines()
        let ring = try await DispatcherRing([.created("f", isOrdered: true)], on: engine, logger: log.logger)
        for number in 1...3 { try await ring.set("items/a", ["n": .integer(Int64(number))]) }
        let launcher = try ring.launcher("f")
        let start = await launcher.next()
        let damaged = try await ring.pending("f")[1].id
        try engine.write { storage in
            let key = table == .events ? OutboxKey.event(damaged.event) : OutboxKey.pending(damaged)
            #expect(try storage.get(table, key) != nil)
            if isMissing { try storage.delete(table, key) } else { try storage.put(table, key, [255]) }
        }
        launcher.end(start)
        try await ring.written()
        // Read after the damaged one.
        try await ring.set("items/b")
        #expect(try await launcher.next().subject == "b")
        #expect(log.all == [Self.skipped(damaged, of: "f")])
        #expect(try await ring.store.outbox.repair() > 0)
        while launcher.count < 3 {
            // It is retried after a second, if a later pass of the repair held it.
            ring.clock.advance(seconds: 1)
            try await ring.written()
        }
        #expect(try await launcher.next().subject == "a")
    }

    private static func skipped(_ id: DeliveryID, of function: String) -> String {
        "a due delivery can't be read and is skipped; \"functions-host data check --repair\" restores it"
            + " event.id=\(id.event) function=\(function)"
    }

    @Test func aBacklogIsKeptAsLongAsItsFunctionHasFailedToStart() async throws {
        let first = try await DispatcherRing([.created("f", concurrency: 1)], begins: false)
        for number in 1...2 { try await first.set("items/\(number)") }
        first.clock.advance(seconds: 10 * 86_400)
        let ring = try await DispatcherRing([.created("f", concurrency: 1)], after: first, startsHandlers: false)
        let launcher = try ring.launcher("f")
        launcher.end(await launcher.next(), .notStarted("no process could be started"))
        // Older than any event is kept, but its function has only just failed to start.
        await ring.service.sweep()
        #expect(try await ring.dead("f").isEmpty)
        #expect(try await ring.pending("f").count == 2)
        ring.clock.advance(seconds: 86_399)
        await ring.service.sweep()
        #expect(try await ring.dead("f").isEmpty)
        ring.clock.advance(seconds: 2)
        await ring.service.sweep()
        #expect(try await ring.dead("f").first?.lastError?.hasPrefix("f can't be started") == true)
    }

    /// It neither shortens nor prolongs the time for which a function has failed to start.
    @Test(arguments: [5.0, -5]) func aBacklogIsKeptAsLongIfTheClockIsSetMeanwhile(days: Double) async throws {
        let first = try await DispatcherRing([.created("f", concurrency: 1)], begins: false)
        for number in 1...2 { try await first.set("items/\(number)") }
        first.clock.advance(seconds: 10 * 86_400)
        let ring = try await DispatcherRing([.created("f", concurrency: 1)], after: first, startsHandlers: false)
        let launcher = try ring.launcher("f")
        launcher.end(await launcher.next(), .notStarted("no process could be started"))
        try await ring.written()
        ring.clock.setWall(ring.clock.timestamp().after(seconds: days * 86_400))
        await ring.service.sweep()
        #expect(try await ring.dead("f").isEmpty)
        ring.clock.advance(seconds: 86_401)
        await ring.service.sweep()
        #expect(try await ring.dead("f").first?.lastError?.hasPrefix("f can't be started") == true)
    }

    @Test func aFailureIsTriedAgainAfterItsPauseAndThenADeadLetter() async throws {
        let ring = try await DispatcherRing([.created("f", retry: quick)])
        try await ring.set("items/1")
        let launcher = try ring.launcher("f")
        launcher.end(await launcher.next(), .failed(.broken))
        #expect(try await ring.pending("f").first?.failedAttempts == 1)
        ring.clock.advance(seconds: 9.9)
        #expect(launcher.count == 1)
        ring.clock.advance(seconds: 0.1)
        let second = await launcher.next()
        #expect(second.stored.delivery.failedAttempts == 1)
        #expect(second.stored.delivery.lastError == "INTERNAL: it broke")
        launcher.end(second, .failed(.broken))
        try await ring.written()
        ring.clock.advance(seconds: 20)
        launcher.end(await launcher.next(), .failed(.broken))
        let dead = try #require(try await ring.dead("f").first)
        #expect(dead.failedAttempts == 3)
        #expect(dead.lastError == "INTERNAL: it broke")
        #expect(try ring.counters("f").deadLetters == 1)
        #expect(try ring.counters("f").failures == 3)
        // By hand it begins again.
        #expect(try await ring.store.outbox.requeue([dead.id]) == 1)
        let again = await launcher.next()
        #expect(again.stored.delivery.failedAttempts == 0)
        launcher.end(again)
        #expect(try await ring.dead("f").isEmpty)
    }

    /// A retry would be made only when the clock shows that time again.
    @Test(arguments: [false, true]) func afterTheClockWasSetBackRetriesAreMadeAndTasksKeepTheirTime(
        restarts: Bool
    ) async throws {
        let functions = [FunctionManifest.created("f", retry: quick), .test("mail", .task(.init()))]
        let first = try await DispatcherRing(functions)
        let right = first.clock.timestamp()
        let ahead = right.after(seconds: 30 * 86_400)
        let scheduled = ahead.after(seconds: 3600)
        first.clock.setWall(ahead)
        try await first.set("items/1")
        try await first.commit(
            [], [.enqueue(TaskDraft(queue: "mail", name: "late", body: [], scheduleTime: scheduled))])
        let launcher = try first.launcher("f")
        launcher.end(await launcher.next(), .failed(.broken))
        #expect(try await first.pending("f").first?.due == ahead.after(seconds: 10))
        await first.service.care()
        if restarts { first.service.stop() }
        first.clock.setWall(right)
        let ring = try await restarts ? DispatcherRing(functions, after: first) : first
        await ring.service.care()
        let second = try await ring.launcher("f").next()
        #expect(second.stored.delivery.failedAttempts == 1)
        #expect(try await ring.pending("mail").first?.due == scheduled)
        // The retries aren't prolonged either: they count from the first attempt by the right time.
        try ring.launcher("f").end(second, .failed(.broken))
        #expect(try await ring.pending("f").first?.firstAttempt == right)
    }

    @Test func aDeadLetterThatIsBroughtBackIsAsOldAsThatOnly() async throws {
        let ring = try await DispatcherRing([.created("f", retry: quick)])
        try await ring.set("items/1")
        let launcher = try ring.launcher("f")
        ring.clock.advance(seconds: 86_400)
        launcher.end(await launcher.next(), .failed(.broken))
        let dead = try #require(try await ring.dead("f").first)
        #expect(try await ring.store.outbox.requeue([dead.id]) == 1)
        launcher.end(await launcher.next(), .failed(.broken))
        #expect(try await ring.pending("f").map(\.failedAttempts) == [1])
        #expect(try await ring.dead("f").isEmpty)
        // Too late for a try after this one.
        ring.clock.advance(seconds: 86_400)
        launcher.end(await launcher.next(), .failed(.broken))
        #expect(try await ring.dead("f").map(\.failedAttempts) == [2])
    }

    @Test func aTryThatSaysNothingLeavesTheDeliveryAsItWas() async throws {
        let ring = try await DispatcherRing([.created("f", retry: quick)])
        try await ring.set("items/1")
        let launcher = try ring.launcher("f")
        let start = await launcher.next()
        ring.service.stop()
        launcher.end(start, .returned)
        #expect(try await ring.pending("f").first?.failedAttempts == 0)
        try #require(try await ring.unleased("f").count == 1)
        let next = try await DispatcherRing([.created("f", retry: quick)], after: ring)
        #expect(try await next.launcher("f").next().stored.delivery.failedAttempts == 0)
    }

    @Test func whatIsDroppedByHandIsNotRunThoughItWaitsInMemory() async throws {
        let ring = try await DispatcherRing([.created("f", concurrency: 1)])
        for number in 1...3 { try await ring.set("items/\(number)") }
        let launcher = try ring.launcher("f")
        let first = await launcher.next()
        let ids = try await ring.pending("f").map(\.id)
        // The first is worked on, and left alone.
        #expect(try await ring.store.outbox.drop(Array(ids.prefix(2))) == 1)
        launcher.end(first)
        #expect(try await launcher.next().subject == "3")
    }

    @Test func oneDocumentsChangesAreToldInOrderAndOthersBeside() async throws {
        let ring = try await DispatcherRing([.created("f", isOrdered: true)])
        for number in 1...3 {
            try await ring.set("items/a", ["n": .integer(Int64(number))])
            try await ring.set("items/b", ["n": .integer(Int64(number))])
        }
        let launcher = try ring.launcher("f")
        var seen: [String: [EventID]] = [:]
        for _ in 1...3 {
            let pair = [await launcher.next(), await launcher.next()]
            #expect(Set(try pair.map { try $0.subject }) == ["a", "b"])
            for start in pair {
                seen[try start.subject, default: []].append(start.id.event)
                launcher.end(start)
            }
        }
        #expect(launcher.mostAtOnce == 2)
        for (_, events) in seen { #expect(events == events.sorted()) }
    }

    @Test func aQueuesConcurrencyAndRateHold() async throws {
        let ring = try await DispatcherRing(
            [.test("mail", .task(.init(maxConcurrentDispatches: 3, maxDispatchesPerSecond: 5)))])
        try await ring.commit([], (1...6).map { .enqueue(TaskDraft(queue: "mail", name: "t\($0)", body: [])) })
        let launcher = try ring.launcher("mail")
        var running = [await launcher.next()]
        #expect(launcher.count == 1)
        for _ in 2...3 {
            ring.clock.advance(seconds: 0.2)
            running.append(await launcher.next())
        }
        ring.clock.advance(seconds: 5)
        #expect(launcher.count == 3)
        #expect(try running.map { try $0.subject } == ["t1", "t2", "t3"])
        launcher.end(running[0])
        #expect(try await launcher.next().subject == "t4")
    }

    @Test func aTaskWithATimeWaitsForIt() async throws {
        let ring = try await DispatcherRing([.test("mail", .task(.init()))])
        let due = ring.clock.timestamp().after(seconds: 3600)
        try await ring.commit([], [.enqueue(TaskDraft(queue: "mail", name: "late", body: [], scheduleTime: due))])
        let launcher = try ring.launcher("mail")
        ring.clock.advance(seconds: 3599)
        #expect(launcher.count == 0)
        ring.clock.advance(seconds: 1)
        #expect(try await launcher.next().subject == "late")
    }

    @Test func aRunOfAJobIsStarted() async throws {
        let ring = try await DispatcherRing([
            .test(
                "nightly",
                .schedule(
                    .init(
                        schedule: "0 3 * * *", timeZone: "UTC", retryCount: 1, maxRetrySeconds: 0,
                        minBackoffSeconds: 5, maxBackoffSeconds: 60, maxDoublings: 5)))
        ])
        try await ring.store.outbox.keep([], runs: [ScheduledRun(function: "nightly", due: ring.clock.timestamp())])
        let launcher = try ring.launcher("nightly")
        launcher.end(await launcher.next(), .failed(.broken))
        try await ring.written()
        ring.clock.advance(seconds: 5)
        launcher.end(await launcher.next(), .failed(.broken))
        #expect(try await ring.dead("nightly").count == 1)
    }

    @Test func aFloodIsDrainedOnceEachWithoutFillingTheMemory() async throws {
        let ring = try await DispatcherRing([
            .created("flooded", concurrency: 4), .created("calm", "calm/{id}"),
        ])
        let count = 3000
        for start in stride(from: 0, to: count, by: 250) {
            let writes = try (start..<start + 250).map {
                Write(path: try DocumentPath("items/\($0)"), operation: .set([:]))
            }
            try await ring.commit(writes)
        }
        let flooded = try ring.launcher("flooded")
        var seen: Set<String> = []
        for number in 0..<count {
            if number == 100 {
                try await ring.set("calm/1")
                #expect(try await ring.launcher("calm").next().subject == "1")
            }
            let start = await flooded.next()
            #expect(seen.insert(try start.subject).inserted)
            flooded.end(start)
        }
        #expect(seen.count == count)
        #expect(flooded.mostAtOnce <= 4)
        #expect(try await ring.pending("flooded").isEmpty)
    }

    @Test func metricsTellOfWhatIsServedAndWhatIsLeft() async throws {
        let first = try await DispatcherRing([.created("f"), .created("gone")])
        let begun = first.clock.timestamp()
        try await first.set("items/1")
        let second = try await DispatcherRing([.created("f", concurrency: 1)], after: first)
        second.clock.advance(seconds: 30)
        let metrics = try await second.service.metrics()
        #expect(metrics.map(\.function) == ["f", "gone"])
        #expect(metrics.map(\.isServed) == [true, false])
        #expect(metrics.map(\.pending) == [1, 1])
        #expect(metrics[1].oldest.map { abs($0.seconds(since: begun)) < 0.001 } == true)
    }

    @Test func deliveriesAreCountedAgainIfTheClockWasSetAheadDuringACount() async throws {
        let engine = ObservedCounts()
        let ring = try await DispatcherRing([.created("f")], on: engine)
        let begun = ring.clock.timestamp()
        let clock = ring.clock
        try await ring.set("items/1")
        engine.onCount { clock.setWall(Timestamp(seconds: begun.seconds + 3600, nanoseconds: 0)) }
        #expect(try await ring.service.metrics().map(\.pending) == [1])
        try #require(clock.timestamp().seconds == begun.seconds + 3600)
        try await ring.set("items/2")
        clock.setWall(Timestamp(seconds: begun.seconds + 7200, nanoseconds: 0))
        #expect(try await ring.service.metrics().map(\.pending) == [2])
    }

    /// A memory engine that calls back before it next counts deliveries.
    private final class ObservedCounts: StorageEngine {
        private let inner = MemoryEngine()
        private let action = Mutex<(@Sendable () -> Void)?>(nil)

        func onCount(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }

        func makeReadSession() throws -> any ReadSession {
            WrappingSession(try inner.makeReadSession()) { Reader(inner: $0, engine: self) }
        }

        func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result { try inner.write(body) }

        func close() throws {}

        private func willCount() {
            let call = action.withLock { action in
                defer { action = nil }
                return action
            }
            call?()
        }

        private struct Reader: ForwardingReader {
            let inner: any StorageReader
            let engine: ObservedCounts

            func count(_ table: StorageTable, _ range: KeyRange) throws -> Int {
                if table == .deliveries { engine.willCount() }
                return try inner.count(table, range)
            }
        }
    }
}
