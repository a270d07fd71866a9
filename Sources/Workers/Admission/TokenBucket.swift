package import DocumentModel

/// A bound on how often something may happen: a rate, and how much may happen at once after a quiet time.
package struct TokenBucket: Equatable, Sendable {
    private let perSecond: Double
    private let size: Double
    private var tokens: Double
    private var filledAt: Timestamp?

    /// The size is that which Cloud Tasks gives a queue of the rate: 100 for 500 a second, and one at least.
    package init(perSecond: Double) {
        self.perSecond = perSecond
        size = max(1, perSecond / 5)
        tokens = size
    }

    /// - Returns: whether it may happen now; then it counts.
    package mutating func take(at now: Timestamp) -> Bool {
        fill(at: now)
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// When it may happen next.
    package mutating func next(at now: Timestamp) -> Timestamp {
        fill(at: now)
        return tokens >= 1 ? now : now.after(seconds: (1 - tokens) / perSecond)
    }

    private mutating func fill(at now: Timestamp) {
        // A clock that was put back fills nothing until it goes on.
        if let filledAt, now > filledAt {
            tokens = min(size, tokens + now.seconds(since: filledAt) * perSecond)
        }
        filledAt = now
    }
}
