package import DocumentModel

/// What becomes of a delivery whose try has failed.
package struct RetryPolicy: Hashable, Sendable {
    /// Nil where it isn't tried again, and goes.
    package var backoff: Backoff?
    /// Tries in all, the first one among them; nil for no bound.
    package var maxTries: Int?
    /// Seconds in which to try; nil for no bound.
    package var maxSeconds: Double?
    /// Whether the seconds are counted from the event, and else from the first try.
    package var countsFromEvent = false
    /// Whether it goes on until both bounds are reached, as Cloud Tasks and Cloud Scheduler do, and else until one is.
    package var needsBoth = false

    package init(
        backoff: Backoff? = nil, maxTries: Int? = nil, maxSeconds: Double? = nil, countsFromEvent: Bool = false,
        needsBoth: Bool = false
    ) {
        self.backoff = backoff
        self.maxTries = maxTries
        self.maxSeconds = maxSeconds
        self.countsFromEvent = countsFromEvent
        self.needsBoth = needsBoth
    }

    package enum Verdict: Hashable, Sendable {
        case retry(at: Timestamp)
        /// Kept among the dead letters.
        case dead
        /// Gone.
        case dropped
    }

    /// - Parameters:
    ///   - tries: those that have failed, at least one.
    ///   - event: when the event happened.
    ///   - firstTry: when the first try began.
    package func verdict(afterFailures tries: Int, event: Timestamp, firstTry: Timestamp, now: Timestamp) -> Verdict {
        guard let backoff else { return .dropped }
        let due = now.after(seconds: backoff.pause(afterFailures: tries))
        let start = countsFromEvent ? event : firstTry
        let triesAreOver = maxTries.map { tries >= $0 }
        // A try that would come too late is none.
        let timeIsOver = maxSeconds.map { due > start.after(seconds: $0) }
        let isOver =
            switch (triesAreOver, timeIsOver) {
            case (nil, nil): false
            case (let over?, nil), (nil, let over?): over
            case (let tries?, let time?): needsBoth ? tries && time : tries || time
            }
        return isOver ? .dead : .retry(at: due)
    }
}

extension RetryPolicy {
    package init(_ trigger: TriggerManifest) {
        switch trigger {
        case .callable, .http: self.init()
        case .document(let trigger): self.init(trigger.retry)
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
                maxTries: trigger.retryCount > 0 ? trigger.retryCount + 1 : nil,
                maxSeconds: trigger.maxRetrySeconds > 0 ? Double(trigger.maxRetrySeconds) : nil, needsBoth: true)
        case .task(let trigger):
            self.init(
                backoff: Backoff(
                    min: trigger.minBackoffSeconds, max: trigger.maxBackoffSeconds, doublings: trigger.maxDoublings),
                maxTries: trigger.maxAttempts > 0 ? trigger.maxAttempts : nil,
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
            maxTries: retry.maxAttempts, maxSeconds: Double(retry.maxAgeSeconds), countsFromEvent: true)
    }
}
