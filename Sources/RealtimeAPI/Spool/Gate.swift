import Sharing
import Synchronization

/// Lets one through at a time. Callers take turns: what one sends doesn't wait for all that another has sent.
final class Gate: Sendable {
    private struct State {
        var isTaken = false
        var waiting = FairQueue<UInt64, @Sendable () -> Void>(places: .max)
    }

    private let state = Mutex(State())

    /// - Parameter body: called once it is its turn, at once or on the thread that leaves. It must lead to ``leave()``.
    func enter(of caller: UInt64, _ body: @escaping @Sendable () -> Void) {
        let isFree = state.withLock { state in
            if state.isTaken { _ = state.waiting.append(body, of: caller) }
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
