import Synchronization

/// Waits for a call that may come before.
final class Waiter: Sendable {
    private enum State {
        case waiting(CheckedContinuation<RealtimeFailure?, Never>?)
        case done(RealtimeFailure?)
    }

    private let state = Mutex(State.waiting(nil))

    init() {}

    @Sendable func resume(_ failure: RealtimeFailure?) {
        let continuation = state.withLock { state -> CheckedContinuation<RealtimeFailure?, Never>? in
            guard case .waiting(let continuation) = state else { return nil }
            state = .done(failure)
            return continuation
        }
        continuation?.resume(returning: failure)
    }

    func wait() async -> RealtimeFailure? {
        await withCheckedContinuation { continuation in
            let known: RealtimeFailure?? = state.withLock { state in
                if case .done(let failure) = state { return failure }
                state = .waiting(continuation)
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
    }
}
