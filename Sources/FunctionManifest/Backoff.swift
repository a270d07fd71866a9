/// The delays between attempts: they double, then grow linearly, up to a maximum.
package struct Backoff: Hashable, Sendable {
    /// The delay in seconds before the second attempt.
    package var min: Double
    package var max: Double
    /// How often the delay doubles; nil for no limit.
    package var doublings: Int?

    package init(min: Double, max: Double, doublings: Int? = nil) {
        self.min = min
        self.max = max
        self.doublings = doublings
    }

    /// The delay in seconds after this many failures, at least one.
    package func pause(afterFailures failures: Int) -> Double {
        let step = failures - 1
        let doubled = Swift.min(step, doublings ?? step, 1000)
        var power = min
        // The delay can't exceed the maximum, so the loop ends early for any delay that isn't nearly 0.
        for _ in 0..<Swift.max(doubled, 0) where power < max { power *= 2 }
        return Swift.min(max, power + Double(step - doubled) * power)
    }
}
