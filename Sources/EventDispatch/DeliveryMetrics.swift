package import DocumentModel
package import Sharing

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
    /// Why those in the outbox can't be counted; nil if they are.
    package var damage: String?
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
