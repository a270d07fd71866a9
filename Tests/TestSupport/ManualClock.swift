package import DocumentModel
import Synchronization

/// A clock that stands still until a test advances it, with a wall clock that goes along.
///
/// Sleepers and timers come at their time, one after the other: within ``advance(by:)`` the clock shows the time of the
/// one that comes. A test that advances the clock for a sleeper first awaits ``sleepers(atLeast:)``.
package final class ManualClock: Clock, Sendable {
    package struct Instant: InstantProtocol {
        /// The time since the clock's start.
        package var offset: Duration

        package init(offset: Duration) { self.offset = offset }

        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    }

    private struct Alarm {
        var number: Int
        var due: Duration
        var isSleeper: Bool
        /// Receives false if the sleeper was cancelled.
        var ring: @Sendable (Bool) -> Void
    }

    private struct State {
        var elapsed: Duration = .zero
        var wall: Timestamp
        var lastNumber = 0
        /// In the order of setting.
        var alarms: [Alarm] = []
        var observers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        var sleeperCount: Int { alarms.count { $0.isSleeper } }

        mutating func move(to time: Duration) {
            guard time > elapsed else { return }
            wall = wall.advanced(by: time - elapsed)
            elapsed = time
        }

        mutating func takeNext(until end: Duration) -> Alarm? {
            guard let next = alarms.indices.min(by: { alarms[$0].due < alarms[$1].due }), alarms[next].due <= end else {
                return nil
            }
            return alarms.remove(at: next)
        }

        mutating func takeSatisfiedObservers() -> [CheckedContinuation<Void, Never>] {
            let count = sleeperCount
            defer { observers.removeAll { $0.count <= count } }
            return observers.filter { $0.count <= count }.map(\.continuation)
        }
    }

    private let state: Mutex<State>

    /// - Parameter start: the wall clock's time.
    package init(at start: Timestamp = Timestamp(microseconds: 1_700_000_000_000_000)) {
        state = Mutex(State(wall: start))
    }

    package var now: Instant { Instant(offset: elapsed()) }
    package var minimumResolution: Duration { .zero }

    /// The time since the start, which never goes back.
    @Sendable package func elapsed() -> Duration { state.withLock { $0.elapsed } }

    @Sendable package func timestamp() -> Timestamp { state.withLock { $0.wall } }

    /// Sets the wall clock, forward or back, without time passing.
    package func setWall(_ time: Timestamp) { state.withLock { $0.wall = time } }

    package func advance(by duration: Duration) {
        let end = elapsed() + duration
        while true {
            let alarm = state.withLock { state in
                let alarm = state.takeNext(until: end)
                state.move(to: alarm?.due ?? end)
                return alarm
            }
            guard let alarm else { return }
            alarm.ring(true)
        }
    }

    /// Advances to the microsecond. A negative number sets the wall clock back, and no time passes.
    package func advance(seconds: Double) {
        let duration = Duration.microseconds(Int64(seconds * 1_000_000))
        guard duration < .zero else { return advance(by: duration) }
        state.withLock { $0.wall = $0.wall.advanced(by: duration) }
    }

    /// Returns once so many tasks sleep on this clock.
    package func sleepers(atLeast count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isMet = state.withLock { state in
                if state.sleeperCount >= count { return true }
                state.observers.append((count, continuation))
                return false
            }
            if isMet { continuation.resume() }
        }
    }

    /// Calls back within the advance that reaches this time.
    package func call(after duration: Duration, _ action: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.lastNumber += 1
            state.alarms.append(
                Alarm(number: state.lastNumber, due: state.elapsed + duration, isSleeper: false) { _ in action() })
        }
    }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let isAwake = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isAwake, observers) = state.withLock { state in
                    // The handler may have run before the sleeper was there.
                    if Task.isCancelled { return (false, []) as (Bool?, [CheckedContinuation<Void, Never>]) }
                    if deadline.offset <= state.elapsed { return (true, []) }
                    state.alarms.append(
                        Alarm(number: number, due: deadline.offset, isSleeper: true) {
                            continuation.resume(returning: $0)
                        })
                    return (nil, state.takeSatisfiedObservers())
                }
                if let isAwake { continuation.resume(returning: isAwake) }
                for observer in observers { observer.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                state.alarms.firstIndex { $0.number == number }.map { state.alarms.remove(at: $0) }
            }
            sleeper?.ring(false)
        }
        guard isAwake else { throw CancellationError() }
    }
}

extension Timestamp {
    fileprivate func advanced(by duration: Duration) -> Timestamp {
        var (seconds, nanoseconds) = (
            self.seconds + duration.components.seconds,
            Int64(self.nanoseconds) + duration.components.attoseconds / 1_000_000_000
        )
        if nanoseconds < 0 { (seconds, nanoseconds) = (seconds - 1, nanoseconds + 1_000_000_000) }
        return Timestamp(
            seconds: seconds + nanoseconds / 1_000_000_000, nanoseconds: Int32(nanoseconds % 1_000_000_000))
    }
}
