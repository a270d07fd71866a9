import DocumentModel
@testable import EventDispatch
import Synchronization

/// Time that stands still until it is moved, with the timers that wait for it.
final class EventClock: EventTimer {
    private struct State {
        var microseconds: Int64
        var timers: [(due: Int64, action: @Sendable () -> Void)] = []
    }

    private let state: Mutex<State>

    /// - Parameter seconds: of the time of day at the start, in UTC.
    init(secondsOfDay seconds: Int64 = 0) {
        state = Mutex(State(microseconds: (1_700_006_400 + seconds) * 1_000_000))
    }

    @Sendable func now() -> Timestamp { Timestamp(microseconds: state.withLock { $0.microseconds }) }

    func schedule(afterSeconds seconds: Double, _ action: @escaping @Sendable () -> Void) {
        // Due already: then it comes without a move.
        guard seconds > 0 else { return _ = Task { action() } }
        state.withLock { $0.timers.append(($0.microseconds + Int64(max(seconds, 0) * 1_000_000), action)) }
    }

    /// Moves on, from one timer to the next, each called at its time.
    func advance(seconds: Double) {
        let end = state.withLock { $0.microseconds } + Int64(seconds * 1_000_000)
        while true {
            let action: (@Sendable () -> Void)? = state.withLock { state in
                let next = state.timers.indices.min { state.timers[$0].due < state.timers[$1].due }
                guard let next, state.timers[next].due <= end else {
                    state.microseconds = end
                    return nil
                }
                let timer = state.timers.remove(at: next)
                state.microseconds = max(state.microseconds, timer.due)
                return timer.action
            }
            guard let action else { return }
            action()
        }
    }
}
