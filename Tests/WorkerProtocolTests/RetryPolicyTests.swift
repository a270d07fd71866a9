import DocumentModel
@testable import FunctionManifest
import Testing

@Suite struct RetryPolicyTests {
    /// Each pause in seconds if every attempt fails at once, and the outcome after the last one.
    private func pauses(_ trigger: TriggerManifest, _ count: Int) -> [Double] {
        let start = Timestamp(seconds: 1_000_000, nanoseconds: 0)
        var now = start
        var pauses: [Double] = []
        for tries in 1...count {
            switch RetryPolicy(trigger).verdict(afterFailures: tries, event: start, firstAttempt: start, now: now) {
            case .retry(let due):
                pauses.append(due.seconds(since: now))
                now = due
            case .dead: return pauses + [Self.dead]
            case .dropped: return pauses + [Self.dropped]
            }
        }
        return pauses
    }

    private static let dead = -1.0
    private static let dropped = -2.0

    private func document(_ retry: EventRetryManifest?) -> TriggerManifest {
        .document(.init(eventType: .created, document: "a/{b}", retry: retry))
    }

    @Test func eventsAreTriedFromTenSecondsToTenMinutesForADay() {
        let pauses = pauses(document(.init()), 200)
        #expect(pauses.prefix(8) == [10, 20, 40, 80, 160, 320, 600, 600])
        #expect(pauses.last == Self.dead)
        let all = pauses.dropLast().reduce(0, +)
        #expect(all <= 86_400 && all > 86_400 - 600)
    }

    @Test func eventWithoutRetryIsDropped() {
        #expect(pauses(document(nil), 1) == [Self.dropped])
        #expect(pauses(.event(.init(eventType: "t")), 1) == [Self.dropped])
    }

    @Test func attemptsAreCountedWithTheFirst() {
        let retry = EventRetryManifest(minBackoffSeconds: 1, maxBackoffSeconds: 600, maxAttempts: 3)
        #expect(pauses(.event(.init(eventType: "t", retry: retry)), 9) == [1, 2, Self.dead])
    }

    @Test func tasksFollowTheirQueue() {
        #expect(pauses(.task(.init()), 9) == [0.1, 0.2, Self.dead])
        // Doubles thrice, then grows by as much as it has become.
        let even = TriggerManifest.TaskTrigger(
            maxAttempts: -1, minBackoffSeconds: 10, maxBackoffSeconds: 300, maxDoublings: 3)
        #expect(pauses(.task(even), 8) == [10, 20, 40, 80, 160, 240, 300, 300])
        func queue(_ attempts: Int, _ seconds: Int) -> TriggerManifest {
            .task(
                .init(maxAttempts: attempts, maxRetrySeconds: seconds, minBackoffSeconds: 4, maxBackoffSeconds: 4))
        }
        #expect(pauses(queue(-1, 10), 9) == [4, 4, Self.dead])
        // Both bounds must be reached.
        #expect(pauses(queue(2, 10), 9) == [4, 4, Self.dead])
        #expect(pauses(queue(5, 1), 9) == [4, 4, 4, 4, Self.dead])
    }

    @Test func jobsFollowTheirRetryOptions() {
        func job(_ count: Int, _ seconds: Int) -> TriggerManifest {
            .schedule(
                .init(
                    schedule: "* * * * *", timeZone: "UTC", retryCount: count, maxRetrySeconds: seconds,
                    minBackoffSeconds: 5, maxBackoffSeconds: 3600, maxDoublings: 5))
        }
        #expect(pauses(job(0, 0), 9) == [Self.dropped])
        #expect(pauses(job(2, 0), 9) == [5, 10, Self.dead])
        #expect(pauses(job(0, 20), 9) == [5, 10, Self.dead])
    }

    @Test func manyTriesAreNoTrouble() {
        let endless = TriggerManifest.TaskTrigger(maxAttempts: -1, maxDoublings: 64)
        let now = Timestamp(seconds: 0, nanoseconds: 0)
        let verdict = RetryPolicy(.task(endless)).verdict(
            afterFailures: 1_000_000_000, event: now, firstAttempt: now, now: now)
        #expect(verdict == .retry(at: Timestamp(seconds: 3600, nanoseconds: 0)))
    }
}
