import DocumentModel
import DocumentStore
import WorkerProtocol

/// What becomes of a delivery whose try has failed.
struct RetryPolicy: Hashable, Sendable {
    /// Nil where it isn't tried again, and goes.
    var backoff: Backoff?
    /// Tries in all, the first one among them; nil for no bound.
    var maxTries: Int?
    /// Seconds in which to try; nil for no bound.
    var maxSeconds: Double?
    /// Whether the seconds are counted from the event, and else from the first try.
    var countsFromEvent = false
    /// Whether it goes on until both bounds are reached, as Cloud Tasks and Cloud Scheduler do, and else until one is.
    var needsBoth = false

    /// - Parameters:
    ///   - delivery: as it was before the try.
    ///   - began: when the try began.
    func outcome(
        of delivery: Delivery, _ failure: DeliveryFailure, began: Timestamp, now: Timestamp
    ) -> DeliveryOutcome {
        guard let backoff else { return .dropped }
        let tries = delivery.tries + 1
        let due = now.after(seconds: backoff.pause(afterFailures: tries))
        let start = countsFromEvent ? delivery.created : delivery.firstTry ?? began
        let triesAreOver = maxTries.map { tries >= $0 }
        // A try that would come too late is none.
        let timeIsOver = maxSeconds.map { due > start.after(seconds: $0) }
        let isOver =
            switch (triesAreOver, timeIsOver) {
            case (nil, nil): false
            case (let over?, nil), (nil, let over?): over
            case (let tries?, let time?): needsBoth ? tries && time : tries || time
            }
        return isOver ? .dead(failure) : .retry(at: due, failure)
    }
}

extension RetryPolicy {
    init(_ trigger: TriggerManifest) {
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

/// How long a delivery is kept that can't be worked on: its function is paused, or isn't served any more.
enum DeliveryAge {
    /// Seconds. Longer than a weekend, since somebody has to notice.
    static let whereGone = 7 * 86_400.0

    /// Seconds. What an author said of the age of events holds; an event that is never tried again is kept for a day,
    /// and tasks and jobs, which are wanted however late they run, for a week.
    static func wherePaused(_ trigger: TriggerManifest) -> Double {
        switch trigger {
        case .document(let trigger): trigger.retry.map { Double($0.maxAgeSeconds) } ?? 86_400
        case .event(let trigger): trigger.retry.map { Double($0.maxAgeSeconds) } ?? 86_400
        case .task, .schedule, .callable, .http: whereGone
        }
    }
}
