/// Statistics of each function's deliveries. The counters of attempts start at the host's start and are nil if no host
/// runs.
package struct DeliveryStatistics: Codable, Hashable, Sendable {
    package struct Function: Codable, Hashable, Sendable {
        package var name: String
        /// Whether the running host serves it.
        package var isServed: Bool?
        /// `paused`, `everythingPaused` or `budgetUsedUp`; nil if the function isn't paused.
        package var paused: String?
        package var pending: Int
        package var dead: Int
        /// The age of the oldest pending event, in seconds.
        package var oldestAge: Int?
        package var inFlight: Int?
        package var tries: Int?
        package var failures: Int?
        package var deadLetters: Int?
        package var dropped: Int?
        /// Upper bounds of the seconds from when a delivery was due to the start of its handler.
        package var latencyP50: Double?
        package var latencyP99: Double?
        /// Why its deliveries can't be counted, and `pending` and `dead` are 0; nil if they are counted.
        package var damage: String?

        package init(
            name: String, isServed: Bool? = nil, paused: String? = nil, pending: Int, dead: Int, oldestAge: Int? = nil,
            inFlight: Int? = nil, tries: Int? = nil, failures: Int? = nil, deadLetters: Int? = nil, dropped: Int? = nil,
            latencyP50: Double? = nil, latencyP99: Double? = nil, damage: String? = nil
        ) {
            self.name = name
            self.isServed = isServed
            self.paused = paused
            self.pending = pending
            self.dead = dead
            self.oldestAge = oldestAge
            self.inFlight = inFlight
            self.tries = tries
            self.failures = failures
            self.deadLetters = deadLetters
            self.dropped = dropped
            self.latencyP50 = latencyP50
            self.latencyP99 = latencyP99
            self.damage = damage
        }
    }

    package var functions: [Function]

    package init(functions: [Function]) { self.functions = functions }
}
