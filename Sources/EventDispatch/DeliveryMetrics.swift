package import DocumentModel

/// How a function's deliveries go: what there is now, and what there was since the host started.
package struct DeliveryMetrics: Sendable {
    package var function: String
    /// Whether the function is served still; one that isn't may have deliveries nevertheless.
    package var isServed = true
    /// Deliveries in the outbox, those that are worked on among them, and dead letters.
    package var pending = 0
    package var dead = 0
    /// When the oldest event happened that is pending.
    package var oldest: Timestamp?
    package var inFlight = 0
    package var counters = DeliveryCounters()
}

/// What was counted since the host started.
package struct DeliveryCounters: Equatable, Sendable {
    /// Handlers that ended, and those of them that failed.
    package var attempts = 0
    package var failures = 0
    /// Deliveries that were given up: kept, and gone.
    package var deadLetters = 0
    package var dropped = 0
    /// From the time at which a delivery was due to the start of its handler.
    package var latency = LatencyHistogram()
}

/// How often something took how long.
package struct LatencyHistogram: Equatable, Sendable {
    /// The upper ends of all buckets but the last, in seconds.
    package static let bounds = [
        0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600,
    ]

    /// By bucket, not added up.
    package private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    package private(set) var sum = 0.0

    package var count: Int { counts.reduce(0, +) }

    mutating func add(seconds: Double) {
        counts[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
        sum += max(seconds, 0)
    }

    /// The end of the bucket that a share of all is in or below; nil if nothing was counted, or if it is beyond
    /// all bounds.
    package func bound(of share: Double) -> Double? {
        let wanted = Double(count) * share
        guard wanted > 0 else { return nil }
        var sum = 0
        for (count, bound) in zip(counts, Self.bounds) {
            sum += count
            if Double(sum) >= wanted { return bound }
        }
        return nil
    }
}
