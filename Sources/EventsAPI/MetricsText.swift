import Sharing
package import DocumentModel
import EventDispatch
package import Hummingbird
import NIOCore

/// Renders the host's metrics in Prometheus' text format.
package typealias MetricsSource = @Sendable () async throws(DocumentError) -> String

/// Metrics in Prometheus' text format.
package enum MetricsText {
    package static func response(_ text: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    /// The metrics of deliveries and pauses.
    ///
    /// - Parameter functions: all served functions, including those without deliveries, which can be paused too.
    static func text(
        _ metrics: [DeliveryMetrics], of functions: some Sequence<String>, pauses: [FunctionPause], now: Timestamp
    ) -> String {
        var text = ""
        func gauge(_ name: String, _ help: String, _ value: (DeliveryMetrics) -> Int?) {
            var family = MetricFamily("functions_\(name)", "gauge", help)
            for each in metrics {
                if let value = value(each) { family.sample(["function": each.function], value) }
            }
            text += family.text
        }
        func counter(_ name: String, _ help: String, _ value: (DeliveryCounters) -> Int) {
            var family = MetricFamily("functions_\(name)_total", "counter", help)
            for each in metrics { family.sample(["function": each.function], value(each.counters)) }
            text += family.text
        }
        gauge("deliveries_pending", "Deliveries in the outbox, including those in flight.") {
            $0.damage == nil ? $0.pending : nil
        }
        gauge("deliveries_dead", "Dead letters.") { $0.damage == nil ? $0.dead : nil }
        gauge("deliveries_in_flight", "Deliveries whose handler is running.") { $0.inFlight }
        var oldest = MetricFamily(
            "functions_deliveries_oldest_seconds", "gauge",
            "Age of the oldest pending event in seconds; 0 if none is pending.")
        for each in metrics where each.damage == nil {
            let age = each.oldest.map { max(0, now.seconds(since: $0)) } ?? 0
            // A whole number has no fraction.
            if age == age.rounded(), age < 1e15 {
                oldest.sample(["function": each.function], Int(age))
            } else {
                oldest.sample(["function": each.function], age)
            }
        }
        let paused = Set(pauses.map(\.function))
        var pausing = MetricFamily(
            "functions_paused", "gauge",
            "1 if the function is paused, by an operator or because its budget is exhausted.")
        for function in paused.union(functions).union(metrics.map(\.function)).sorted() {
            pausing.sample(["function": function], paused.contains(function) ? 1 : 0)
        }
        text += oldest.text + pausing.text
        counter("delivery_tries", "Delivery attempts that ended.") { $0.attempts }
        counter("delivery_failures", "Delivery attempts that failed.") { $0.failures }
        counter("delivery_dead_letters", "Deliveries that were dead-lettered.") { $0.deadLetters }
        counter("delivery_dropped", "Deliveries that were dropped.") { $0.dropped }
        var latency = MetricFamily(
            "functions_delivery_latency_seconds", "histogram",
            "Seconds from a delivery's due time to the start of its handler.")
        for each in metrics { latency.samples(["function": each.function], each.counters.latency) }
        text += latency.text
        return text
    }
}

extension EventService {
    /// The service's metrics in Prometheus' text format.
    package func metricsText() async throws(DocumentError) -> String {
        MetricsText.text(
            try await metrics(), of: functions.keys, pauses: pausedFunctions, now: parts.now())
    }
}
