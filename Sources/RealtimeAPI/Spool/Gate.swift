import DequeModule
import Synchronization

/// Lets one through at a time, in the order of arrival.
final class Gate: Sendable {
    private struct State {
        var isTaken = false
        var waiting: Deque<@Sendable () -> Void> = []
    }

    private let state = Mutex(State())

    /// - Parameter body: called once it is its turn, at once or on the thread that leaves. It must lead to ``leave()``.
    func enter(_ body: @escaping @Sendable () -> Void) {
        let isFree = state.withLock { state in
            if state.isTaken { state.waiting.append(body) }
            defer { state.isTaken = true }
            return !state.isTaken
        }
        if isFree { body() }
    }

    func leave() {
        let next = state.withLock { state in
            let next = state.waiting.popFirst()
            state.isTaken = next != nil
            return next
        }
        next?()
    }
}
