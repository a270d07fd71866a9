/// The pauses between tries: they double, then grow by equal steps, up to a bound.
package struct Backoff: Hashable, Sendable {
    /// Seconds before the second try.
    package var min: Double
    package var max: Double
    /// How often a pause is twice the one before; nil for always.
    package var doublings: Int?

    package init(min: Double, max: Double, doublings: Int? = nil) {
        self.min = min
        self.max = max
        self.doublings = doublings
    }

    /// Seconds to wait once so many tries have failed, one at least.
    package func pause(afterFailures failures: Int) -> Double {
        let step = failures - 1
        let doubled = Swift.min(step, doublings ?? step, 1000)
        var power = min
        // Beyond the bound it grows no more, so this ends early for any pause that can be told from 0.
        for _ in 0..<Swift.max(doubled, 0) where power < max { power *= 2 }
        return Swift.min(max, power + Double(step - doubled) * power)
    }
}
