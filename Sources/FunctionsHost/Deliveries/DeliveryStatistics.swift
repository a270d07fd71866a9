import DocumentModel
import DocumentStore

/// How the deliveries of each function go. Numbers of handlers are those since the host started, and are nil where no
/// host runs.
package struct DeliveryStatistics: Codable, Hashable, Sendable {
    package struct Function: Codable, Hashable, Sendable {
        package var name: String
        /// Whether the running host serves it.
        package var isServed: Bool?
        /// `paused`, `everythingPaused` or `budgetUsedUp`; nil where it goes.
        package var paused: String?
        package var pending: Int
        package var dead: Int
        /// Seconds since the oldest event that is pending.
        package var oldestAge: Int?
        package var inFlight: Int?
        package var tries: Int?
        package var failures: Int?
        package var deadLetters: Int?
        package var dropped: Int?
        /// Seconds from when a delivery was due to the start of its handler, no more than this.
        package var latencyP50: Double?
        package var latencyP99: Double?
    }

    package var functions: [Function]
}

extension DeliveryStatistics {
    /// - Parameter pauses: those of functions that requests start are told too, which have no deliveries.
    init(_ metrics: [DeliveryMetrics], pauses: [FunctionPause], now: Timestamp) {
        let paused = Dictionary(pauses.map { ($0.function, $0.reason.rawValue) }) { first, _ in first }
        functions = metrics.map { metrics in
            let counters = metrics.counters
            return Function(
                name: metrics.function, isServed: metrics.isServed, paused: paused[metrics.function],
                pending: metrics.pending, dead: metrics.dead, oldestAge: Self.age(metrics.oldest, now),
                inFlight: metrics.inFlight, tries: counters.tries, failures: counters.failures,
                deadLetters: counters.deadLetters, dropped: counters.dropped,
                latencyP50: counters.latency.bound(of: 0.5), latencyP99: counters.latency.bound(of: 0.99))
        }
        let known = Set(functions.map(\.name))
        functions += pauses.filter { !known.contains($0.function) }.map {
            Function(name: $0.function, paused: $0.reason.rawValue, pending: 0, dead: 0)
        }
        functions.sort { $0.name < $1.name }
    }

    /// What is known where no host runs.
    init(_ counts: [DocumentStore.DeliveryCounts], now: Timestamp) {
        functions = counts.map { count in
            Function(
                name: count.function, pending: count.pending, dead: count.dead,
                oldestAge: Self.age(count.oldest, now))
        }
    }

    private static func age(_ oldest: Timestamp?, _ now: Timestamp) -> Int? {
        oldest.map { Int(max(0, (now.microseconds - $0.microseconds) / 1_000_000)) }
    }
}

extension LatencyHistogram {
    /// The end of the bucket that a share of all is in or below; nil where nothing was counted, or where it is beyond
    /// all bounds.
    func bound(of share: Double) -> Double? {
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
