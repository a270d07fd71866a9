import Sharing
import DocumentModel
@testable import ControlProtocol
@testable import EventDispatch
@testable import EventsAPI
import Testing

struct MetricsTextTests {
    private func lines() -> [String] {
        var busy = DeliveryMetrics(function: "recordSale")
        (busy.pending, busy.dead, busy.inFlight) = (5, 2, 3)
        busy.oldest = Timestamp(microseconds: 1_000_000_000_000)
        (busy.counters.attempts, busy.counters.failures, busy.counters.deadLetters, busy.counters.dropped) = (
            7, 4, 2, 1
        )
        for seconds in [0.000_1, 0.000_9, 0.004, 700] { busy.counters.latency.add(seconds: seconds) }
        let idle = DeliveryMetrics(function: "sendReceipt")
        let text = MetricsText.text(
            [busy, idle], of: ["recordSale", "sendReceipt", "hello", "purchase"],
            pauses: [
                FunctionPause(function: "sendReceipt", reason: .everythingPaused),
                FunctionPause(function: "purchase", reason: .budgetUsedUp),
            ],
            now: Timestamp(microseconds: 1_000_002_500_000))
        #expect(text.hasSuffix("\n"))
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    @Test(arguments: [
        "functions_deliveries_pending{function=\"recordSale\"} 5",
        "functions_deliveries_dead{function=\"recordSale\"} 2",
        "functions_deliveries_in_flight{function=\"recordSale\"} 3",
        "functions_deliveries_oldest_seconds{function=\"recordSale\"} 2.5",
        "functions_deliveries_oldest_seconds{function=\"sendReceipt\"} 0",
        "functions_paused{function=\"recordSale\"} 0", "functions_paused{function=\"sendReceipt\"} 1",
        "functions_paused{function=\"purchase\"} 1", "functions_paused{function=\"hello\"} 0",
        "functions_delivery_tries_total{function=\"recordSale\"} 7",
        "functions_delivery_failures_total{function=\"recordSale\"} 4",
        "functions_delivery_dead_letters_total{function=\"recordSale\"} 2",
        "functions_delivery_dropped_total{function=\"recordSale\"} 1",
        "functions_delivery_latency_seconds_bucket{function=\"recordSale\",le=\"0.00025\"} 1",
        "functions_delivery_latency_seconds_bucket{function=\"recordSale\",le=\"0.001\"} 2",
        "functions_delivery_latency_seconds_bucket{function=\"recordSale\",le=\"600.0\"} 3",
        "functions_delivery_latency_seconds_bucket{function=\"recordSale\",le=\"+Inf\"} 4",
        "functions_delivery_latency_seconds_count{function=\"recordSale\"} 4",
        "functions_delivery_latency_seconds_sum{function=\"recordSale\"} 700.005",
    ])
    func eachMetricHasItsLine(line: String) { #expect(lines().contains(line)) }

    /// A number that isn't known isn't 0.
    @Test func deliveriesThatCannotBeCountedHaveNoNumber() {
        var damaged = DeliveryMetrics(function: "f")
        (damaged.damage, damaged.inFlight) = ("the block can't be read", 1)
        let lines = MetricsText.text(
            [damaged], of: ["f"], pauses: [], now: Timestamp(microseconds: 1)
        ).split(separator: "\n").filter { $0.hasPrefix("functions_deliveries") }
        #expect(lines == ["functions_deliveries_in_flight{function=\"f\"} 1"])
    }

    @Test func eachFamilyIsIntroducedOnceAndBeforeItsSamples() {
        var introduced: [String] = []
        for line in lines() {
            if line.hasPrefix("# TYPE ") {
                introduced.append(String(line.split(separator: " ")[2]))
            } else if !line.hasPrefix("#"), let family = introduced.last {
                #expect(line.hasPrefix(family), "\(line)")
            }
        }
        #expect(Set(introduced).count == introduced.count && introduced.count == 10)
    }

    @Test func percentilesOfLatenciesAreBucketBounds() {
        var latency = LatencyHistogram()
        #expect(latency.bound(of: 0.5) == nil)
        for _ in 0..<99 { latency.add(seconds: 0.000_8) }
        latency.add(seconds: 0.3)
        #expect(latency.bound(of: 0.5) == 0.001 && latency.bound(of: 0.99) == 0.001 && latency.bound(of: 1) == 0.5)
    }
}
