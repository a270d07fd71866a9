package import DocumentModel

/// A function's deliveries: current numbers, and counts since the host's start.
package struct DeliveryMetrics: Sendable {
    package var function: String
    /// Whether the function is still served; deliveries may exist for one that isn't.
    package var isServed = true
    /// Deliveries in the outbox; those that are running among them; dead letters.
    package var pending = 0
    package var dead = 0
    /// The time of the oldest pending event.
    package var oldest: Timestamp?
    package var inFlight = 0
    package var counters = DeliveryCounters()
}

/// Counts since the host's start.
package struct DeliveryCounters: Equatable, Sendable {
    /// Handlers that ended, and those of them that failed.
    package var attempts = 0
    package var failures = 0
    /// Deliveries that were dead-lettered, and dropped.
    package var deadLetters = 0
    package var dropped = 0
    /// The time from when a delivery is due to the start of its handler.
    package var latency = LatencyHistogram()
}

/// A histogram of durations.
package struct LatencyHistogram: Equatable, Sendable {
    /// The upper ends of all buckets but the last, in seconds.
    package static let bounds = [
        0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600,
    ]

    /// By bucket, not cumulative.
    package private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    package private(set) var sum = 0.0

    package var count: Int { counts.reduce(0, +) }

    mutating func add(seconds: Double) {
        counts[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
        sum += max(seconds, 0)
    }

    /// The end of the bucket that contains the given share of all values; nil if nothing was counted, or if the value
    /// is larger than all bounds.
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
