package import DocumentModel

/// Decides what happens to a delivery after a failed attempt.
package struct RetryPolicy: Hashable, Sendable {
    /// Nil if the delivery is dropped instead of retried.
    package var backoff: Backoff?
    /// The maximum number of attempts, including the first one; nil for no limit.
    package var maxAttempts: Int?
    /// The time limit for attempts in seconds; nil for no limit.
    package var maxSeconds: Double?
    /// Whether the time limit counts from the event or from the first attempt.
    package var countsFromEvent = false
    /// Whether retries continue until both limits are reached, as in Cloud Tasks and Cloud Scheduler, or until either
    /// is.
    package var needsBoth = false

    package init(
        backoff: Backoff? = nil, maxAttempts: Int? = nil, maxSeconds: Double? = nil, countsFromEvent: Bool = false,
        needsBoth: Bool = false
    ) {
        self.backoff = backoff
        self.maxAttempts = maxAttempts
        self.maxSeconds = maxSeconds
        self.countsFromEvent = countsFromEvent
        self.needsBoth = needsBoth
    }

    /// The longest delay between two attempts, in seconds.
    package var longestPause: Double { backoff?.max ?? 0 }

    package enum Verdict: Hashable, Sendable {
        case retry(at: Timestamp)
        /// Dead-lettered.
        case dead
        /// Removed.
        case dropped
    }

    /// - Parameters:
    ///   - failures: The number of failed attempts, at least one.
    ///   - event: When the event happened.
    ///   - firstAttempt: When the first attempt began.
    package func verdict(afterFailures failures: Int, event: Timestamp, firstAttempt: Timestamp, now: Timestamp)
        -> Verdict
    {
        guard let backoff else { return .dropped }
        let due = now.after(seconds: backoff.pause(afterFailures: failures))
        let start = countsFromEvent ? event : firstAttempt
        let attemptsAreOver = maxAttempts.map { failures >= $0 }
        // An attempt after the time limit isn't made.
        let timeIsOver = maxSeconds.map { due > start.after(seconds: $0) }
        let isOver =
            switch (attemptsAreOver, timeIsOver) {
            case (nil, nil): false
            case (let over?, nil), (nil, let over?): over
            case (let attempts?, let time?): needsBoth ? attempts && time : attempts || time
            }
        return isOver ? .dead : .retry(at: due)
    }
}

extension RetryPolicy {
    package init(_ trigger: TriggerManifest) {
        switch trigger {
        case .callable, .http, .blocking: self.init()
        case .document(let trigger): self.init(trigger.retry)
        case .reference(let trigger): self.init(trigger.retry)
        case .event(let trigger): self.init(trigger.retry)
        case .schedule(let trigger):
            guard trigger.retryCount > 0 || trigger.maxRetrySeconds > 0 else {
                self.init()
                return
            }
            self.init(
                backoff: Backoff(
                    min: Double(trigger.minBackoffSeconds), max: Double(trigger.maxBackoffSeconds),
                    doublings: trigger.maxDoublings),
                maxAttempts: trigger.retryCount > 0 ? trigger.retryCount + 1 : nil,
                maxSeconds: trigger.maxRetrySeconds > 0 ? Double(trigger.maxRetrySeconds) : nil, needsBoth: true)
        case .task(let trigger):
            self.init(
                backoff: Backoff(
                    min: trigger.minBackoffSeconds, max: trigger.maxBackoffSeconds, doublings: trigger.maxDoublings),
                maxAttempts: trigger.maxAttempts > 0 ? trigger.maxAttempts : nil,
                maxSeconds: trigger.maxRetrySeconds > 0 ? Double(trigger.maxRetrySeconds) : nil, needsBoth: true)
        }
    }

    private init(_ retry: EventRetryManifest?) {
        guard let retry else {
            self.init()
            return
        }
        self.init(
            backoff: Backoff(min: retry.minBackoffSeconds, max: retry.maxBackoffSeconds),
            maxAttempts: retry.maxAttempts, maxSeconds: Double(retry.maxAgeSeconds), countsFromEvent: true)
    }
}
