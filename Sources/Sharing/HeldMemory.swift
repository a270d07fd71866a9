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
