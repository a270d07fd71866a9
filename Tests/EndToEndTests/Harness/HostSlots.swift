import Synchronization

/// How many hosts the tests run at a time: more would only make each other slow. The wait for one counts in a test's
/// time limit, which is generous for that reason.
enum HostSlots {
    private struct State {
        var free = 5
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private static let state = Mutex(State())

    static func take() async {
        await withCheckedContinuation { continuation in
            let mayGo = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if mayGo { continuation.resume() }
        }
    }

    static func giveBack() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
