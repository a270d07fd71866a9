import DocumentModel

/// How a function's deliveries go: what there is now, and what there was since the host started.
struct DeliveryMetrics: Sendable {
    var function: String
    /// Whether the function is served still; one that isn't may have deliveries nevertheless.
    var isServed = true
    /// Deliveries in the outbox, those that are worked on among them, and dead letters.
    var pending = 0
    var dead = 0
    /// When the oldest event happened that is pending.
    var oldest: Timestamp?
    var inFlight = 0
    var counters = DeliveryCounters()
}

/// What was counted since the host started.
struct DeliveryCounters: Equatable, Sendable {
    /// Handlers that ended, and those of them that failed.
    var tries = 0
    var failures = 0
    /// Deliveries that were given up: kept, and gone.
    var deadLetters = 0
    var dropped = 0
    /// From the time at which a delivery was due to the start of its handler.
    var latency = LatencyHistogram()
}

/// How often something took how long.
struct LatencyHistogram: Equatable, Sendable {
    /// The upper ends of all buckets but the last, in seconds.
    static let bounds = [
        0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600,
    ]

    /// By bucket, not added up.
    private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    private(set) var sum = 0.0

    var count: Int { counts.reduce(0, +) }

    mutating func add(seconds: Double) {
        counts[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
        sum += max(seconds, 0)
    }
}
