import Testing

@testable import WorkerProtocol

@Suite struct DeliveryRetryTests {
    private func pauses(_ trigger: TriggerManifest, _ count: Int) throws -> [Double?] {
        let retry = try #require(trigger.deliveryRetry)
        var age = 0.0
        return (1...count).map { tries in
            let pause = retry.pause(afterTries: tries, age: age, time: age)
            age += pause ?? 0
            return pause
        }
    }

    private func document(_ retry: EventRetryManifest?) -> TriggerManifest {
        .document(.init(eventType: .created, document: "a/{b}", retry: retry))
    }

    @Test func eventsAreTriedFromTenSecondsToTenMinutesForADay() throws {
        let pauses = try pauses(document(.init()), 200)
        #expect(pauses.prefix(8) == [10, 20, 40, 80, 160, 320, 600, 600])
        let all = pauses.compactMap(\.self).reduce(0, +)
        #expect(all <= 86_400 && all > 86_400 - 600)
        #expect(document(.init()).deliveryRetry?.keepsDead == true)
    }

    @Test func eventWithoutRetryIsDropped() throws {
        #expect(try pauses(document(nil), 1) == [nil])
        #expect(document(nil).deliveryRetry?.keepsDead == false)
        #expect(try pauses(.event(.init(eventType: "t")), 1) == [nil])
    }

    @Test func attemptsAreCountedWithTheFirst() throws {
        let retry = EventRetryManifest(minBackoffSeconds: 1, maxBackoffSeconds: 600, maxAttempts: 3)
        #expect(try pauses(.event(.init(eventType: "t", retry: retry)), 3) == [1, 2, nil])
    }

    @Test func tasksFollowTheirQueue() throws {
        #expect(try pauses(.task(.init()), 3) == [0.1, 0.2, nil])
        // Doubles thrice, then grows by as much as it has become.
        let even = TriggerManifest.TaskTrigger(
            maxAttempts: -1, minBackoffSeconds: 10, maxBackoffSeconds: 300, maxDoublings: 3)
        #expect(try pauses(.task(even), 8) == [10, 20, 40, 80, 160, 240, 300, 300])
        let timed = TriggerManifest.TaskTrigger(
            maxAttempts: -1, maxRetrySeconds: 10, minBackoffSeconds: 4, maxBackoffSeconds: 4)
        #expect(try pauses(.task(timed), 3) == [4, 4, nil])
        // Both bounds must be reached.
        let both = TriggerManifest.TaskTrigger(
            maxAttempts: 2, maxRetrySeconds: 10, minBackoffSeconds: 4, maxBackoffSeconds: 4)
        #expect(try pauses(.task(both), 3) == [4, 4, nil])
        let few = TriggerManifest.TaskTrigger(
            maxAttempts: 5, maxRetrySeconds: 1, minBackoffSeconds: 4, maxBackoffSeconds: 4)
        #expect(try pauses(.task(few), 5) == [4, 4, 4, 4, nil])
    }

    @Test func jobsFollowTheirRetryOptions() throws {
        func job(_ count: Int, _ seconds: Int) -> TriggerManifest {
            .schedule(
                .init(
                    schedule: "* * * * *", timeZone: "UTC", retryCount: count, maxRetrySeconds: seconds,
                    minBackoffSeconds: 5, maxBackoffSeconds: 3600, maxDoublings: 5))
        }
        #expect(try pauses(job(0, 0), 1) == [nil])
        #expect(try pauses(job(2, 0), 3) == [5, 10, nil])
        #expect(try pauses(job(0, 20), 3) == [5, 10, nil])
    }

    @Test func manyTriesAreNoTrouble() throws {
        let endless = TriggerManifest.TaskTrigger(maxAttempts: -1, maxDoublings: 64)
        let retry = try #require(TriggerManifest.task(endless).deliveryRetry)
        #expect(retry.pause(afterTries: 1_000_000_000, age: 0, time: 0) == 3600)
        #expect(TriggerManifest.http(.init(cors: .off)).deliveryRetry == nil)
    }
}
