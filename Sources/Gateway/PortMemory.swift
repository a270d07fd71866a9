package import NIOCore
package import Sharing

/// The memory of the bodies and answers under way on all ports of a host.
package struct PortMemory: Sendable {
    package let bodies: MemoryBudget
    package let answers: MemoryBudget

    /// - Parameters: in bytes.
    package init(bodies: Int = 128 * 1024 * 1024, answers: Int = 128 * 1024 * 1024) {
        self.bodies = MemoryBudget(total: bodies)
        self.answers = MemoryBudget(total: answers)
    }
}

/// How long a connection may take for what.
package struct PortTimes: Sendable {
    /// For a request to arrive whole.
    package var transfer: TimeAmount
    /// Without a request, or for a client to take the least of its answer.
    package var idle: TimeAmount
    /// For the rest of a refused request, which is read and discarded.
    package var discard: TimeAmount
    /// For what is under way when the host stops.
    package var grace: TimeAmount

    package init(
        transfer: TimeAmount = .seconds(60), idle: TimeAmount = .seconds(75), discard: TimeAmount = .seconds(10),
        grace: TimeAmount = .seconds(10)
    ) {
        self.transfer = transfer
        self.idle = idle
        self.discard = discard
        self.grace = grace
    }
}

extension PortMemory {
    /// Metrics in the Prometheus format.
    package var metrics: String {
        var text = ""
        for (name, budget, what) in [
            ("functions_host_body_bytes", bodies, "bodies of requests on all ports"),
            ("functions_host_answer_bytes", answers, "answers that clients haven't received yet"),
        ] {
            let figures = budget.figures
            text += MetricFamily.single(name, "gauge", "Memory held by \(what).", figures.used)
            text += MetricFamily.single("\(name)_peak", "gauge", "The most of it since the start.", figures.peak)
        }
        return text
    }
}
