import Synchronization

/// Keeps the writes of one connection in their order, whichever of their checks on readers' threads ends first.
package final class RealtimeWriteSequence: Sendable {
    private struct State {
        var next = 0
        /// The number of the write that is submitted next.
        var head = 0
        /// Those whose checks have ended, but not those before them.
        var ready: [Int: @Sendable () -> Void] = [:]
        var isSubmitting = false
    }

    private let state = Mutex(State())

    package init() {}

    /// A place for a write, after all that have one. Something must be submitted at it.
    package func reserve() -> Int {
        state.withLock { state in
            state.next += 1
            return state.next - 1
        }
    }

    /// Submits a write once those before it have been submitted.
    package func submit(_ number: Int, _ submit: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            state.ready[number] = submit
            // Else the thread that is submitting takes it.
            guard !state.isSubmitting else { return false }
            state.isSubmitting = true
            return true
        }
        guard isFirst else { return }
        while let next = take() { next() }
    }

    private func take() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard let next = state.ready.removeValue(forKey: state.head) else {
                state.isSubmitting = false
                return nil
            }
            state.head += 1
            return next
        }
    }
}
