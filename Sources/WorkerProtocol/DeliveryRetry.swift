/// When a failed try to tell a function of an event is followed by another.
package struct DeliveryRetry: Equatable, Sendable {
    /// The first pause, in seconds.
    package var minBackoff: Double
    package var maxBackoff: Double
    /// How often the pause doubles before it grows evenly; nil for as often as the longest pause allows.
    package var maxDoublings: Int?
    /// Tries in all; nil for no bound.
    package var maxTries: Int?
    /// Seconds since the event; nil for no bound.
    package var maxAge: Double?
    /// Seconds since the first try, in which tries beyond `maxTries` are made too; nil for none.
    package var maxTime: Double?
    /// Whether what is given up is kept as a dead letter.
    package var keepsDead: Bool

    package init(
        minBackoff: Double, maxBackoff: Double, maxDoublings: Int? = nil, maxTries: Int?, maxAge: Double? = nil,
        maxTime: Double? = nil, keepsDead: Bool = true
    ) {
        self.minBackoff = minBackoff
        self.maxBackoff = maxBackoff
        self.maxDoublings = maxDoublings
        self.maxTries = maxTries
        self.maxAge = maxAge
        self.maxTime = maxTime
        self.keepsDead = keepsDead
    }

    /// How long to wait before the next try; nil where there is none.
    ///
    /// - Parameters:
    ///   - tries: those that failed, at least one.
    ///   - age: seconds since the event.
    ///   - time: seconds since the first try.
    package func pause(afterTries tries: Int, age: Double, time: Double) -> Double? {
        let pause = backoff(afterTries: tries)
        if let maxAge, age + pause > maxAge { return nil }
        if let maxTries, tries >= maxTries {
            guard let maxTime, time + pause <= maxTime else { return nil }
        } else if maxTries == nil, let maxTime, time + pause > maxTime {
            return nil
        }
        return pause
    }

    private func backoff(afterTries tries: Int) -> Double {
        // 2^64 of any pause is beyond every bound.
        let steps = min(max(tries - 1, 0), 64)
        let doublings = min(steps, maxDoublings ?? steps)
        var pause = minBackoff
        for _ in 0..<doublings { pause *= 2 }
        if let maxDoublings, tries - 1 > maxDoublings { pause *= Double(tries - maxDoublings) }
        return min(pause, maxBackoff)
    }
}

extension TriggerManifest {
    /// How the function's events are tried again; nil where the function is told of none.
    package var deliveryRetry: DeliveryRetry? {
        switch self {
        case .callable, .http: nil
        case .document(let trigger): DeliveryRetry(trigger.retry)
        case .event(let trigger): DeliveryRetry(trigger.retry)
        case .schedule(let trigger):
            DeliveryRetry(
                minBackoff: Double(trigger.minBackoffSeconds), maxBackoff: Double(trigger.maxBackoffSeconds),
                maxDoublings: trigger.maxDoublings, maxTries: trigger.retryCount + 1,
                maxTime: trigger.maxRetrySeconds > 0 ? Double(trigger.maxRetrySeconds) : nil)
        case .task(let trigger):
            DeliveryRetry(
                minBackoff: trigger.minBackoffSeconds, maxBackoff: trigger.maxBackoffSeconds,
                maxDoublings: trigger.maxDoublings, maxTries: trigger.maxAttempts < 0 ? nil : trigger.maxAttempts,
                maxTime: trigger.maxRetrySeconds > 0 ? Double(trigger.maxRetrySeconds) : nil)
        }
    }
}

extension DeliveryRetry {
    fileprivate init(_ manifest: EventRetryManifest?) {
        guard let manifest else {
            // Dropped: nobody asked for it to be kept.
            self.init(minBackoff: 0, maxBackoff: 0, maxTries: 1, keepsDead: false)
            return
        }
        self.init(
            minBackoff: manifest.minBackoffSeconds, maxBackoff: manifest.maxBackoffSeconds,
            maxTries: manifest.maxAttempts, maxAge: Double(manifest.maxAgeSeconds))
    }
}
