package import DocumentModel

/// A bound on a rate, which allows a burst after an idle period.
package struct TokenBucket: Equatable, Sendable {
    private let perSecond: Double
    private let size: Double
    private var tokens: Double
    private var filledAt: Timestamp?

    /// The size of the bucket is the one that Cloud Tasks gives a queue of the rate: 100 for 500 per second, and at
    /// least one.
    package init(perSecond: Double) {
        self.perSecond = perSecond
        size = max(1, perSecond / 5)
        tokens = size
    }

    /// - Returns: whether one more is allowed now; then it counts.
    package mutating func take(at now: Timestamp) -> Bool {
        fill(at: now)
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// The time at which the next one is allowed.
    package mutating func next(at now: Timestamp) -> Timestamp {
        fill(at: now)
        return tokens >= 1 ? now : now.after(seconds: (1 - tokens) / perSecond)
    }

    private mutating func fill(at now: Timestamp) {
        // While the clock is behind a time that it has shown before, nothing is refilled.
        if let filledAt, now > filledAt {
            tokens = min(size, tokens + now.seconds(since: filledAt) * perSecond)
        }
        filledAt = now
    }
}
