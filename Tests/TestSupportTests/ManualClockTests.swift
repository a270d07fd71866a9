import DocumentModel
import Synchronization
import TestSupport
import Testing

struct ManualClockTests {
    @Test(.endsHangs) func sleeperWakesWhenTheClockReachesItsTime() async throws {
        let clock = ManualClock()
        let isAwake = Mutex(false)
        async let sleep: Void = {
            try await clock.sleep(for: .seconds(10))
            isAwake.withLock { $0 = true }
        }()
        await clock.sleepers()
        clock.advance(by: .seconds(9))
        // Still asleep, or this would wait.
        await clock.sleepers()
        #expect(!isAwake.withLock { $0 })
        clock.advance(by: .seconds(1))
        try await sleep
    }

    @Test(.endsHangs) func cancelledSleeperWakesWithoutTimePassing() async {
        let clock = ManualClock()
        let sleep = Task { try await clock.sleep(for: .seconds(10)) }
        await clock.sleepers()
        sleep.cancel()
        await #expect(throws: CancellationError.self) { try await sleep.value }
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(for: .seconds(10))
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(clock.elapsed() == .zero)
    }

    @Test(.endsHangs) func timeThatHasPassedIsNotSleptFor() async throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(5))
        try await clock.sleep(until: ManualClock.Instant(offset: .seconds(5)), tolerance: nil)
    }

    @Test func timersComeInOrderAtTheirTimes() {
        let clock = ManualClock()
        let times = Mutex<[Duration]>([])
        let note: @Sendable () -> Void = { times.withLock { $0.append(clock.elapsed()) } }
        clock.call(after: .seconds(3), note)
        clock.call(after: .seconds(1)) {
            note()
            clock.call(after: .seconds(1), note)
        }
        clock.call(after: .seconds(9), note)
        clock.advance(by: .seconds(5))
        #expect(times.withLock { $0 } == [.seconds(1), .seconds(2), .seconds(3)])
        #expect(clock.elapsed() == .seconds(5))
    }

    @Test func wallClockGoesAlongAndMayBeSet() {
        let clock = ManualClock(at: Timestamp(seconds: 100, nanoseconds: 600_000_000))
        clock.advance(by: .milliseconds(1500))
        #expect(clock.timestamp() == Timestamp(seconds: 102, nanoseconds: 100_000_000))
        clock.setWall(Timestamp(seconds: 50, nanoseconds: 0))
        clock.advance(by: .seconds(1))
        #expect(clock.timestamp() == Timestamp(seconds: 51, nanoseconds: 0))
        #expect(clock.elapsed() == .milliseconds(2500))
        clock.advance(seconds: -1.5)
        #expect(clock.timestamp() == Timestamp(seconds: 49, nanoseconds: 500_000_000))
        #expect(clock.elapsed() == .milliseconds(2500))
    }
}
