import Synchronization

/// Wakes the one task that waits for it. A signal without a waiter is kept for the next wait; several are one.
final class WakeSignal: Sendable {
    private enum State {
        case idle, raised
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.idle)

    func raise() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard case .waiting(let waiter) = state else {
                state = .raised
                return nil
            }
            state = .idle
            return waiter
        }
        waiter?.resume()
    }

    /// Returns when the signal is raised, or the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = state.withLock { state in
                    // The handler may have run before the waiter was there.
                    if case .idle = state, !Task.isCancelled {
                        state = .waiting(continuation)
                        return true
                    }
                    state = .idle
                    return false
                }
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            raise()
        }
    }
}
