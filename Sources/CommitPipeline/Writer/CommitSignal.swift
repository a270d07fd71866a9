import Synchronization

/// Notifies waiting tasks of new commits, once these are durable.
package final class CommitSignal: Sendable {
    fileprivate struct State {
        var latest: Int64
        var waiters: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var nextID: UInt64 = 0
        var isClosed = false
    }

    private let state: Mutex<State>

    init(version: Int64) { state = Mutex(State(latest: version)) }

    func publish(_ version: Int64) {
        let waiters = state.withLock { state in
            state.latest = max(state.latest, version)
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    /// Ends all waits, now and later.
    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume(returning: false) }
    }

    /// Waits until there is a commit after a version.
    ///
    /// - Returns: false if the pipeline has shut down or the task was cancelled.
    package func wait(after version: Int64) async -> Bool {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known: Bool? = state.withLock { state in
                    if state.isClosed || Task.isCancelled { return false }
                    if state.latest > version { return true }
                    state.waiters[id] = continuation
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: false)
        }
    }
}

extension CommitSignal.State {
    fileprivate mutating func takeWaiters() -> [CheckedContinuation<Bool, Never>] {
        guard !waiters.isEmpty else { return [] }
        defer { waiters = [:] }
        return Array(waiters.values)
    }
}
