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

    /// - Returns: false if the holder may not have that many more bytes now; nothing was taken then.
    package func take(_ bytes: Int, for holder: Holder) -> Bool {
        guard bytes > 0 else { return true }
        return state.withLock { state in
            guard bytes <= total - state.used else { return false }
            if holder != .host {
                let held = state.held[holder, default: 0]
                let share = min(total / 8 * 3, (total - state.used + held) / 2)
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

/// What one request holds of a budget: as a stranger for as long as that has room, so that its token needs no look, and
/// beyond that as its user.
package struct HeldMemory {
    private let budget: MemoryBudget
    private let stranger: MemoryBudget.Holder
    /// Nil until it is needed, and if there is none.
    private var user: MemoryBudget.Holder?
    private var heldAsStranger = 0
    private var heldAsUser = 0

    /// - Parameter address: a number that stands for the address of the client.
    package init(_ budget: MemoryBudget, address: UInt64) {
        self.budget = budget
        stranger = .stranger(address)
    }

    package var bytes: Int { heldAsStranger + heldAsUser }

    /// - Parameter identify: verifies the request's token; nil if it has none that is valid.
    /// - Returns: false if the caller may not hold that many more bytes now.
    package mutating func take(_ bytes: Int, identify: () -> MemoryBudget.Holder?) -> Bool {
        if heldAsUser == 0, budget.take(bytes, for: stranger) {
            heldAsStranger += bytes
            return true
        }
        guard let user = user ?? identify() else { return false }
        self.user = user
        guard budget.take(bytes, for: user) else { return false }
        heldAsUser += bytes
        return true
    }

    /// Call once the bytes are held no more.
    package mutating func release() {
        budget.release(heldAsStranger, of: stranger)
        if let user { budget.release(heldAsUser, of: user) }
        (heldAsStranger, heldAsUser) = (0, 0)
        // A connection may be another user's when it holds something again.
        user = nil
    }

    /// Holds about as many bytes as given, for what grows and shrinks often: small differences are left as they are.
    ///
    /// - Returns: false if the caller may not hold that many bytes now.
    package mutating func adjust(to bytes: Int, identify: () -> MemoryBudget.Holder?) -> Bool {
        guard bytes > 0 else {
            if self.bytes > 0 { release() }
            return true
        }
        let difference = bytes - self.bytes
        if difference > Self.smallDifference { return take(difference, identify: identify) }
        if difference < -Self.smallDifference { release(-difference) }
        return true
    }

    private mutating func release(_ bytes: Int) {
        let asUser = min(bytes, heldAsUser)
        if let user { budget.release(asUser, of: user) }
        budget.release(bytes - asUser, of: stranger)
        heldAsUser -= asUser
        heldAsStranger -= bytes - asUser
    }

    private static let smallDifference = 65_536
}
