import CommitPipeline
import HostTesting
import DocumentModel
import DocumentStore
@testable import EventDelivery
@testable import ControlProtocol
@testable import EventDispatch
import Logging
import Synchronization
import TestSupport
import Testing

/// The service: alarms, ends that the store tells, and commands.
@Suite struct ScheduleRunnerTests {
    /// An alarm that rings when the test says so.
    private final class TestAlarm: ScheduleAlarm {
        private struct State {
            var ring: (@Sendable () -> Void)?
            var waiter: CheckedContinuation<Duration, Never>?
            var time: Duration?
        }

        private let state = Mutex(State())

        func set(after time: Duration, _ ring: @escaping @Sendable () -> Void) {
            let waiter = state.withLock { state in
                state.ring = ring
                state.time = state.waiter == nil ? time : nil
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(returning: time)
        }

        /// What it is set to the next time.
        func nextTime() async -> Duration {
            await withCheckedContinuation { continuation in
                let time = state.withLock { state in
                    defer { state.time = nil }
                    if state.time == nil { state.waiter = continuation }
                    return state.time
                }
                if let time { continuation.resume(returning: time) }
            }
        }

        func ring() { state.withLock { $0.ring }?() }
    }

    /// Runs a body beside a runner of one job.
    private static func serving(
        _ body: @Sendable (ScheduleRunner, TestAlarm, ScheduleFixtures, DocumentStore) async throws -> Void
    ) async throws {
        let fixtures = ScheduleFixtures(
            [ScheduleFixtures.function("job", "0 * * * *")],
            at: try #require(Timestamp(rfc3339: "2026-01-01T00:59:30Z")))
        try await fixtures.serving { store in
            let alarm = TestAlarm()
            let runner = try ScheduleRunner(
                fixtures.functions, store: store, now: { fixtures.now }, alarm: alarm, logger: Logger(label: "test"))
            try await withThrowingTaskGroup { group in
                group.addTask { try await runner.run() }
                try await body(runner, alarm, fixtures, store)
                group.cancelAll()
            }
            // Nobody waits for a host that has ended.
            await #expect(throws: DocumentError.self) { try await runner.listing(count: 1) }
        }
    }

    @Test(.endsHangs) func theAlarmIsSetToTheNextRun() async throws {
        try await Self.serving { runner, alarm, fixtures, store in
            #expect(await alarm.nextTime() == .seconds(30))
            fixtures.now = fixtures.now.adding(30)
            alarm.ring()
            // Not longer than a minute: the machine may sleep, or its clock be put right.
            #expect(await alarm.nextTime() == .seconds(60))
            #expect(try await store.openRuns(of: "job").map(\.rfc3339) == ["2026-01-01T01:00:00Z"])
            let id = try #require(try await store.outbox.deliveries(areDead: false, limit: 1).first?.id)
            _ = try await store.finish(id, at: fixtures.now)
            #expect(await alarm.nextTime() == .seconds(60))
            let report = try #require(try await runner.listing(count: 1).schedules.first)
            #expect(report.lastRun?.outcome == "succeeded")
            #expect(report.openRun == nil)
            #expect(report.next == ["2026-01-01T02:00:00Z"])
        }
    }

    /// Handlers have time to end while the host stops.
    @Test(.endsHangs) func theEndOfARunWhileTheHostStopsIsRecorded() async throws {
        let fixtures = ScheduleFixtures(
            [ScheduleFixtures.function("job", "every 5 minutes")],
            at: try #require(Timestamp(rfc3339: "2026-01-01T00:00:00Z")))
        try await fixtures.serving { store in
            let alarm = TestAlarm()
            let runner = try ScheduleRunner(
                fixtures.functions, store: store, now: { fixtures.now }, alarm: alarm, logger: Logger(label: "test"))
            await withThrowingTaskGroup { group in
                group.addTask { try await runner.run() }
                #expect(await alarm.nextTime() == .seconds(60))
                fixtures.now = fixtures.now.adding(300)
                alarm.ring()
                #expect(await alarm.nextTime() == .seconds(60))
                group.cancelAll()
            }
            fixtures.now = fixtures.now.adding(420)
            #expect(try await store.work(on: "job", at: fixtures.now).count == 1)
            await runner.finish()
            // The next start counts from the end, and not from the beginning.
            var keeper = ScheduleKeeper(try fixtures.jobs, store: store, logger: Logger(label: "test"))
            _ = await keeper.step(at: fixtures.now)
            #expect(try await store.openRuns(of: "job").isEmpty)
            #expect(keeper.nextRun == fixtures.now.adding(300))
            #expect(keeper.states["job"]?.record.lastRun?.end?.outcome == .succeeded)
        }
    }

    @Test(
        .endsHangs,
        arguments: [
            (DeliveryOutcome.dead(DeliveryFailure("it broke")), "dead"),
            (.dropped(DeliveryFailure("it broke")), "failed"),
        ])
    func aRunByHandCanBeAwaited(outcome: DeliveryOutcome, name: String) async throws {
        try await Self.serving { runner, alarm, fixtures, store in
            let (deliveries, continuation) = AsyncStream<StoredDelivery>.makeStream()
            store.outbox.onChanges { news in for run in news.due { continuation.yield(run) } }
            async let awaited = runner.run("job", isAwaited: true)
            var runs = deliveries.makeAsyncIterator()
            let first = try #require(await runs.next())
            // Its run goes on, and may not be overlapped.
            await #expect(throws: DocumentError.self) { try await runner.run("job", isAwaited: false) }
            _ = try await store.finish(first.delivery.id, at: fixtures.now, as: outcome)
            let report = try await awaited
            #expect(report.outcome == name)
            #expect(report.error == "it broke")
            #expect(report.id == first.delivery.id.event.description)
            let second = try await runner.run("job", isAwaited: false)
            #expect(second.outcome == nil)
            #expect(second.id == (await runs.next())?.delivery.id.event.description)
        }
    }
}
