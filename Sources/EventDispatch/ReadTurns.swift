import DequeModule
import Synchronization

/// Lets a few read from the outbox at once, and the others one after the other: the store's readers serve documents too,
/// and no function with much to read shall hold up another.
final class ReadTurns: Sendable {
    private struct State {
        var free: Int
        var waiting: Deque<@Sendable () async -> Void> = []
    }

    private let state: Mutex<State>

    init(atOnce: Int = 2) { state = Mutex(State(free: atOnce)) }

    func take(_ read: @escaping @Sendable () async -> Void) {
        let mayGo = state.withLock { state in
            guard state.free > 0 else {
                state.waiting.append(read)
                return false
            }
            state.free -= 1
            return true
        }
        if mayGo { Task { await go(on: read) } }
    }

    private func go(on first: @escaping @Sendable () async -> Void) async {
        var next: (@Sendable () async -> Void)? = first
        while let read = next {
            await read()
            next = state.withLock { state in
                if let read = state.waiting.popFirst() { return read }
                state.free += 1
                return nil
            }
        }
    }
}
