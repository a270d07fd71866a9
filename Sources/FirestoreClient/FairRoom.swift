import Synchronization

/// Room for so many units of something, which is given out in the order of asking.
final class FairRoom: Sendable {
    private struct Waiter {
        var number: Int
        var units: Int
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var free: Int
        var lastNumber = 0
        var waiters: [Waiter] = []

        /// Serves who waits, until there isn't enough for the first.
        mutating func serve() -> [CheckedContinuation<Bool, Never>] {
            var served = 0
            while served < waiters.count, waiters[served].units <= free {
                free -= waiters[served].units
                served += 1
            }
            defer { waiters.removeFirst(served) }
            return waiters.prefix(served).map(\.continuation)
        }
    }

    private let state: Mutex<State>

    init(_ units: Int) { state = Mutex(State(free: units)) }

    /// What nobody has; less than nothing where some was taken that wasn't there.
    var free: Int { state.withLock { $0.free } }
    var waiting: Int { state.withLock { $0.waiters.count } }

    /// Waits for units.
    ///
    /// - Returns: false where the task is cancelled, which has none then.
    func take(_ units: Int) async -> Bool {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isServed: Bool? = state.withLock { state in
                    if Task.isCancelled { return false }
                    if state.waiters.isEmpty, units <= state.free {
                        state.free -= units
                        return true
                    }
                    state.waiters.append(Waiter(number: number, units: units, continuation: continuation))
                    return nil
                }
                if let isServed { continuation.resume(returning: isServed) }
            }
        } onCancel: {
            withdraw(number)
        }
    }

    /// Takes units where they are free, whoever waits.
    func takeNow(_ units: Int) -> Bool {
        state.withLock { state in
            guard units <= state.free else { return false }
            state.free -= units
            return true
        }
    }

    /// Takes units though they may not be there.
    func takeAnyway(_ units: Int) { state.withLock { $0.free -= units } }

    func give(_ units: Int) {
        let served = state.withLock { state in
            state.free += units
            return state.serve()
        }
        for continuation in served { continuation.resume(returning: true) }
    }

    private func withdraw(_ number: Int) {
        let (withdrawn, served) = state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0.number == number }) else {
                return (nil as Waiter?, [CheckedContinuation<Bool, Never>]())
            }
            // Who stood behind it may need less.
            return (state.waiters.remove(at: index), state.serve())
        }
        withdrawn?.continuation.resume(returning: false)
        for continuation in served { continuation.resume(returning: true) }
    }
}
