import Synchronization

/// Memory that callers hold for a time, such as the bodies of their requests, bounded in total and shared among them.
///
/// A caller may hold at most half of what the others leave, so that something is left for the next one however much
/// each of them wants, and at most three eighths of everything.
package final class MemoryBudget: Sendable {
    /// Who holds memory.
    package enum Holder: Hashable, Sendable {
        /// The operator and the project's own servers, which are bounded by the total alone.
        case host
        /// A signed-in user, by a number that stands for the user's id.
        case user(UInt64)
        /// A caller without a valid token, by a number that stands for the address. All strangers together hold at most
        /// half.
        case stranger(UInt64)

        package static func user(id: String) -> Holder { .user(UInt64(truncatingIfNeeded: id.hashValue)) }
    }

    private struct State {
        var used = 0
        var strangers = 0
        var held: [Holder: Int] = [:]
        var peak = 0
    }

    /// In bytes.
    package let total: Int
    private let state = Mutex(State())

    /// - Parameter total: in bytes.
    package init(total: Int) { self.total = total }

    /// The most that a holder ever gets, while others hold nothing.
    package func most(for holder: Holder) -> Int { holder == .host ? total : total / 8 * 3 }

    /// - Returns: false if the holder may not have that many more bytes now; nothing was taken then.
    package func take(_ bytes: Int, for holder: Holder) -> Bool {
        guard bytes > 0 else { return true }
        return state.withLock { state in
            guard bytes <= total - state.used else { return false }
            if holder != .host {
                let held = state.held[holder, default: 0]
                let share = min(most(for: holder), (total - state.used + held) / 2)
                guard bytes <= share - held else { return false }
                if case .stranger = holder {
                    guard bytes <= total / 2 - state.strangers else { return false }
                    state.strangers += bytes
                }
                state.held[holder] = held + bytes
            }
            state.used += bytes
            state.peak = max(state.peak, state.used)
            return true
        }
    }

    /// Returns bytes that the holder has taken.
    package func release(_ bytes: Int, of holder: Holder) {
        guard bytes > 0 else { return }
        state.withLock { state in
            state.used -= bytes
            guard holder != .host else { return }
            if case .stranger = holder { state.strangers -= bytes }
            let left = state.held[holder, default: 0] - bytes
            state.held[holder] = left == 0 ? nil : left
        }
    }

    /// The bytes that are held now, and the most that were held at any time.
    package var figures: (used: Int, peak: Int) { state.withLock { ($0.used, $0.peak) } }
}
