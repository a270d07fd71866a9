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

    package init() {}

    package mutating func add(seconds: Double) {
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

    /// The samples of a histogram in Prometheus' text format, without its head.
    ///
    /// - Parameter labels: such as `function="f"`.
    func samples(_ name: String, _ labels: String) -> String {
        var text = ""
        var sum = 0
        for (count, bound) in zip(counts, Self.bounds) {
            sum += count
            text += "\(name)_bucket{\(labels),le=\"\(bound)\"} \(sum)\n"
        }
        text += "\(name)_bucket{\(labels),le=\"+Inf\"} \(count)\n"
        let total = self.sum == self.sum.rounded() && self.sum < 1e15 ? "\(Int(self.sum))" : "\(self.sum)"
        return text + "\(name)_sum{\(labels)} \(total)\n\(name)_count{\(labels)} \(count)\n"
    }
}
