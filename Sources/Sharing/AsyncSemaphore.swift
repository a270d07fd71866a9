import Synchronization

/// Units of a bounded resource, acquired in the order of asking.
///
/// A waiter that needs more than is available holds up those behind it, so that a large request isn't starved by small
/// ones. A waiter whose task is cancelled leaves the queue, and those behind it may be served at once.
package final class AsyncSemaphore: Sendable {
    private struct Waiter {
        var number: Int
        var units: Int
        /// Receives false if the waiter was cancelled.
        var resume: @Sendable (Bool) -> Void
    }

    private struct State {
        var available: Int
        var lastNumber = 0
        var waiters: [Waiter] = []

        /// Removes the waiters that can be served, up to the first that can't.
        mutating func serve() -> [Waiter] {
            var served = 0
            while served < waiters.count, waiters[served].units <= available {
                available -= waiters[served].units
                served += 1
            }
            guard served > 0 else { return [] }
            defer { waiters.removeFirst(served) }
            return Array(waiters.prefix(served))
        }
    }

    private let state: Mutex<State>

    package init(_ units: Int) { state = Mutex(State(available: units)) }

    /// Unallocated units; negative when overcommitted.
    package var available: Int { state.withLock { $0.available } }
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Waits for units, which the caller gives back with ``release(_:)``.
    ///
    /// - Throws: if the task is cancelled before it is served. It holds no units then.
    package func acquire(_ units: Int = 1) async throws(CancellationError) {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let isServed = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The handler may have run before the waiter was in the queue.
                enqueue(units, number, unless: { Task.isCancelled }) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            withdraw(number)
        }
        guard isServed else { throw CancellationError() }
    }

    /// Waits for units whether or not the task is cancelled.
    package func acquireIgnoringCancellation(_ units: Int = 1) async {
        await withCheckedContinuation { continuation in
            enqueue(units, 0) { _ in continuation.resume() }
        }
    }

    /// Acquires units if they are available, ahead of those that wait.
    package func tryAcquire(_ units: Int = 1) -> Bool {
        state.withLock { state in
            guard units <= state.available else { return false }
            state.available -= units
            return true
        }
    }

    /// Acquires units whether or not they are available, and so may overcommit the resource.
    package func acquireOvercommitting(_ units: Int = 1) { state.withLock { $0.available -= units } }

    package func release(_ units: Int = 1) {
        let served = state.withLock { state in
            state.available += units
            return state.serve()
        }
        for waiter in served { waiter.resume(true) }
    }

    /// Runs work in a task of its own while it holds a unit. Work starts in the order of the calls.
    package func run(_ work: @escaping @Sendable () async -> Void) {
        enqueue(1, 0) { _ in
            Task {
                await work()
                self.release()
            }
        }
    }

    /// - Parameter isCancelled: asked under the lock, so that a cancellation finds either the waiter or this.
    private func enqueue(
        _ units: Int, _ number: Int, unless isCancelled: () -> Bool = { false },
        _ resume: @escaping @Sendable (Bool) -> Void
    ) {
        let isServed: Bool? = state.withLock { state in
            if isCancelled() { return false }
            if state.waiters.isEmpty, units <= state.available {
                state.available -= units
                return true
            }
            state.waiters.append(Waiter(number: number, units: units, resume: resume))
            return nil
        }
        if let isServed { resume(isServed) }
    }

    private func withdraw(_ number: Int) {
        let (withdrawn, served) = state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0.number == number }) else {
                return (nil as Waiter?, [Waiter]())
            }
            let withdrawn = state.waiters.remove(at: index)
            // Those behind it may need less.
            return (withdrawn, state.serve())
        }
        withdrawn?.resume(false)
        for waiter in served { waiter.resume(true) }
    }
}
