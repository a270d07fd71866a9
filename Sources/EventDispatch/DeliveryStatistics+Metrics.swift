import Sharing
package import CommitPipeline
package import ControlProtocol
package import DocumentModel
import DocumentStore

extension DeliveryStatistics {
    /// - Parameter pauses: all pauses, including those of callables and HTTP functions.
    package init(_ metrics: [DeliveryMetrics], pauses: [FunctionPause], now: Timestamp) {
        let paused = Dictionary(pauses.map { ($0.function, $0.reason.rawValue) }) { first, _ in first }
        var functions = metrics.map { metrics in
            let counters = metrics.counters
            return Function(
                name: metrics.function, isServed: metrics.isServed, paused: paused[metrics.function],
                pending: metrics.pending, dead: metrics.dead, oldestAge: Self.age(metrics.oldest, now),
                inFlight: metrics.inFlight, tries: counters.attempts, failures: counters.failures,
                deadLetters: counters.deadLetters, dropped: counters.dropped,
                latencyP50: counters.latency.bound(of: 0.5), latencyP99: counters.latency.bound(of: 0.99),
                damage: metrics.damage)
        }
        let known = Set(functions.map(\.name))
        functions += pauses.filter { !known.contains($0.function) }.map {
            Function(name: $0.function, paused: $0.reason.rawValue, pending: 0, dead: 0)
        }
        functions.sort { $0.name < $1.name }
        self.init(functions: functions)
    }

    /// The statistics that are available without a running host.
    package init(_ counts: [DeliveryCounts], now: Timestamp) {
        self.init(
            functions: counts.map { count in
                Function(
                    name: count.function, pending: count.pending, dead: count.dead,
                    oldestAge: Self.age(count.oldest, now), damage: count.damage)
            })
    }

    private static func age(_ oldest: Timestamp?, _ now: Timestamp) -> Int? {
        oldest.map { Int(max(0, now.seconds(since: $0))) }
    }
}
