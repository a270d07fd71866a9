import CommitPipeline
import DocumentModel
import FunctionManifest
import DocumentStore
import EventDelivery
import Testing

@Suite struct RetryPolicyTests {
    private let start = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)

    /// The times of the attempts of a delivery that always fails, in seconds after the event, and whether it is
    /// dead-lettered after the last one.
    private func attempts(of policy: RetryPolicy, atMost bound: Int = 20) -> (seconds: [Double], isDead: Bool) {
        var delivery = Delivery(
            id: DeliveryID(event: EventID(version: start.microseconds, ordinal: 0), function: "f"),
            state: .pending(due: start))
        var now = start
        var seconds: [Double] = [0]
        while seconds.count < bound {
            switch policy.outcome(of: delivery, .broken, began: now, now: now) {
            case .retry(let due, .broken):
                delivery.firstAttempt = delivery.firstAttempt ?? now
                delivery.failedAttempts += 1
                now = due
                seconds.append(now.seconds(since: start))
            case .dead(.broken): return (seconds, true)
            default: return (seconds, false)
            }
        }
        return (seconds, false)
    }

    @Test func withoutRetryTheEventIsDropped() {
        for trigger in [
            TriggerManifest.document(.init(eventType: .created, document: "a/{b}")),
            .event(.init(eventType: "t")),
            .schedule(
                .init(
                    schedule: "* * * * *", timeZone: "UTC", retryCount: 0, maxRetrySeconds: 0, minBackoffSeconds: 5,
                    maxBackoffSeconds: 3600, maxDoublings: 5)),
        ] {
            let delivery = Delivery(
                id: DeliveryID(event: EventID(version: start.microseconds, ordinal: 0), function: "f"),
                state: .pending(due: start))
            #expect(RetryPolicy(trigger).outcome(of: delivery, .broken, began: start, now: start) == .dropped(.broken))
        }
    }

    @Test func eventsAreTriedUntilTheirAge() {
        let policy = RetryPolicy(.event(.init(eventType: "t", retry: .init(maxAgeSeconds: 100))))
        #expect(attempts(of: policy) == ([0, 10, 30, 70], true))
    }

    @Test func eventsAreTriedUntilTheirAttempts() {
        let policy = RetryPolicy(
            .document(.init(eventType: .created, document: "a/{b}", retry: .init(maxAttempts: 3))))
        #expect(attempts(of: policy) == ([0, 10, 30], true))
    }

    @Test(arguments: [
        (3, 0, [0.0, 1, 3], true), (1, 0, [0], true), (-1, 20, [0, 1, 3, 7, 15], true),
        (2, 20, [0, 1, 3, 7, 15], true), (6, 4, [0, 1, 3, 7, 15, 31], true),
        (-1, 0, [0, 1, 3, 7, 15, 31, 63, 123, 183, 243], false),
    ])
    func tasksGoOnUntilBothBoundsAreReached(attempts: Int, seconds: Int, due: [Double], isDead: Bool) {
        let policy = RetryPolicy(
            .task(
                .init(
                    maxAttempts: attempts, maxRetrySeconds: seconds, minBackoffSeconds: 1, maxBackoffSeconds: 60,
                    maxDoublings: 16)))
        #expect(self.attempts(of: policy, atMost: due.count + (isDead ? 1 : 0)) == (due, isDead))
    }

    @Test(arguments: [(2, 0, [0.0, 5, 15]), (0, 40, [0, 5, 15, 35]), (1, 40, [0, 5, 15, 35])])
    func jobsHaveRetriesBesidesTheRun(retries: Int, seconds: Int, due: [Double]) {
        let policy = RetryPolicy(
            .schedule(
                .init(
                    schedule: "* * * * *", timeZone: "UTC", retryCount: retries, maxRetrySeconds: seconds,
                    minBackoffSeconds: 5, maxBackoffSeconds: 3600, maxDoublings: 5)))
        #expect(attempts(of: policy) == (due, true))
    }

    /// As on a machine without a battery for its clock, at the first attempt after it has booted.
    @Test func aClockThatWasBehindEndsNoRetries() {
        let policy = RetryPolicy(.event(.init(eventType: "t", retry: .init(maxAgeSeconds: 100))))
        var delivery = Delivery(
            id: DeliveryID(event: EventID(version: start.microseconds, ordinal: 0), function: "f"),
            state: .pending(due: start))
        delivery.firstAttempt = start.after(seconds: -86_400)
        #expect(
            policy.outcome(of: delivery, .broken, began: start, now: start)
                == .retry(at: start.after(seconds: 10), .broken))
    }

    /// The event happened while the clock was ahead, and its first attempt began then or after the clock was set back.
    @Test(arguments: [0.0, 86_400]) func aClockThatWasAheadProlongsNoRetries(first: Double) {
        let ahead = start.after(seconds: 86_400)
        let policy = RetryPolicy(.event(.init(eventType: "t", retry: .init(maxAgeSeconds: 100))))
        var delivery = Delivery(
            id: DeliveryID(event: EventID(version: ahead.microseconds, ordinal: 0), function: "f"),
            state: .pending(due: start))
        delivery.firstAttempt = start.after(seconds: first)
        #expect(
            policy.outcome(of: delivery, .broken, began: start, now: start)
                == .retry(at: start.after(seconds: 10), .broken))
        #expect(policy.outcome(of: delivery, .broken, began: start, now: start.after(seconds: 100)) == .dead(.broken))
    }

    @Test func theTimeToTryBeginsWithTheFirstTry() {
        let policy = RetryPolicy(
            .task(.init(maxAttempts: -1, maxRetrySeconds: 10, minBackoffSeconds: 1, maxBackoffSeconds: 60)))
        let delivery = Delivery(
            id: DeliveryID(event: EventID(version: start.microseconds, ordinal: 0), function: "f"),
            state: .pending(due: start))
        let late = start.after(seconds: 86_400)
        #expect(
            policy.outcome(of: delivery, .broken, began: late, now: late)
                == .retry(at: late.after(seconds: 1), .broken))
    }
}
