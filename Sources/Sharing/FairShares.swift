import Synchronization

/// Places of which no holder takes more than half of what the others leave, so that there is one for the next holder.
package final class FairShares<Holder: Hashable & Sendable>: Sendable {
    private struct State {
        var taken = 0
        var byHolder: [Holder: Int] = [:]
    }

    package let total: Int
    private let state = Mutex(State())

    package init(total: Int) { self.total = total }

    /// - Parameter holder: nil for one that is bounded by the total alone.
    /// - Returns: false if the holder has its share; nothing was taken then.
    package func take(for holder: Holder?) -> Bool {
        state.withLock { state in
            guard state.taken < total else { return false }
            if let holder {
                let own = state.byHolder[holder] ?? 0
                guard own == 0 || own < (total - state.taken + own) / 2 else { return false }
                state.byHolder[holder] = own + 1
            }
            state.taken += 1
            return true
        }
    }

    /// Returns a place that the holder has taken.
    package func release(of holder: Holder?) {
        state.withLock { state in
            state.taken -= 1
            guard let holder else { return }
            let left = (state.byHolder[holder] ?? 1) - 1
            state.byHolder[holder] = left == 0 ? nil : left
        }
    }
}
