import Sharing
package import DocumentModel
import EventDispatch
package import Hummingbird
import NIOCore

/// Renders the host's metrics in Prometheus' text format.
package typealias MetricsSource = @Sendable () async throws(DocumentError) -> String

/// Metrics in Prometheus' text format.
package struct MetricsText {
    private(set) var text = ""

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
        let paused = Set(pauses.map(\.function))
        var writer = MetricsText()
        func gauge(_ name: String, _ help: String, _ value: (DeliveryMetrics) -> Double?) {
            writer.family("functions_\(name)", "gauge", help, metrics, value)
        }
        func counter(_ name: String, _ help: String, _ value: (DeliveryCounters) -> Int) {
            writer.family("functions_\(name)_total", "counter", help, metrics) { Double(value($0.counters)) }
        }
        gauge("deliveries_pending", "Deliveries in the outbox, including those in flight.") {
            Double($0.pending)
        }
        gauge("deliveries_dead", "Dead letters.") { Double($0.dead) }
        gauge("deliveries_in_flight", "Deliveries whose handler is running.") { Double($0.inFlight) }
        gauge("deliveries_oldest_seconds", "Age of the oldest pending event in seconds; 0 if none is pending.") {
            $0.oldest.map { max(0, now.seconds(since: $0)) } ?? 0
        }
        writer.head(
            "functions_paused", "gauge",
            "1 if the function is paused, by an operator or because its budget is exhausted.")
        for function in paused.union(functions).union(metrics.map(\.function)).sorted() {
            writer.sample("functions_paused", function, paused.contains(function) ? 1 : 0)
        }
        counter("delivery_tries", "Delivery attempts that ended.") { $0.attempts }
        counter("delivery_failures", "Delivery attempts that failed.") { $0.failures }
        counter("delivery_dead_letters", "Deliveries that were dead-lettered.") { $0.deadLetters }
        counter("delivery_dropped", "Deliveries that were dropped.") { $0.dropped }
        writer.latency(metrics)
        return writer.text
    }

    private mutating func family(
        _ name: String, _ type: String, _ help: String, _ metrics: [DeliveryMetrics],
        _ value: (DeliveryMetrics) -> Double?
    ) {
        head(name, type, help)
        for metrics in metrics {
            guard let value = value(metrics) else { continue }
            sample(name, metrics.function, value)
        }
    }

    private mutating func latency(_ metrics: [DeliveryMetrics]) {
        let name = "functions_delivery_latency_seconds"
        head(name, "histogram", "Seconds from a delivery's due time to the start of its handler.")
        for metrics in metrics {
            text += metrics.counters.latency.samples(name, "function=\"\(metrics.function)\"")
        }
    }

    private mutating func head(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    /// - Parameter function: a name that the manifest allows, which needs no escaping.
    private mutating func sample(_ name: String, _ function: String, _ value: Double) {
        let number = value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
        text += "\(name){function=\"\(function)\"} \(number)\n"
    }
}

extension EventService {
    /// The service's metrics in Prometheus' text format.
    package func metricsText() async throws(DocumentError) -> String {
        MetricsText.text(
            try await metrics(), of: functions.keys, pauses: pausedFunctions, now: parts.now())
    }
}
