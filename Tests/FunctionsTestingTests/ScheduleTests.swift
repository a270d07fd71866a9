import FunctionsRuntime
import FunctionsTesting
import Testing

struct TimedFunctions: FunctionBundle {
    var functions: [Function] {
        onSchedule("nightly", schedule: "every day 03:00") { event in
            try await event.firestore.document("runs/\(event.jobName)").setData(["time": event.scheduleTime])
        }
        // Succeeds only at the second attempt.
        onSchedule(
            "hourly", schedule: "30 * * * *", .timeZone("Asia/Kolkata"),
            .retry(.exponential(from: .minutes(10), attempts: 2))
        ) { event in
            if event.attempt == 1 { throw HttpsError(.unavailable, "not yet") }
            try await event.firestore.document("runs/\(event.jobName)").setData(
                ["times": FieldValue.arrayUnion([event.scheduleTime])], merge: true)
        }
    }
}

@Suite struct ScheduleTests {
    /// From 03:04:05 UTC, which is 08:34:05 in Kolkata.
    @Test func schedulesRunAsTimeGoesOn() async throws {
        let tester = try FunctionsTester(
            TimedFunctions(), startingAt: Timestamp(seconds: 1_767_323_045, nanoseconds: 0))
        func fields(_ path: String) async throws -> [String: Value]? {
            try await tester.firestore.document(path).getDocument().data()
        }
        let attempts = try await tester.advance(by: .seconds(3 * 3600), toleratingFailures: true)
        #expect(attempts.map(\.function) == ["hourly", "hourly", "hourly", "hourly", "hourly"])
        #expect(attempts.map(\.attempt) == [1, 2, 1, 2, 1])
        let due: [Int64] = [1_767_326_400, 1_767_330_000]
        #expect(
            try await fields("runs/hourly")
                == ["times": .array(due.map { .timestamp(Timestamp(seconds: $0, nanoseconds: 0)) })])
        let night = try await tester.advance(by: .seconds(22 * 3600), toleratingFailures: true)
        #expect(night.filter { $0.function == "nightly" }.map(\.outcome) == [.succeeded])
        #expect(
            try await fields("runs/nightly")
                == ["time": .timestamp(Timestamp(seconds: 1_767_409_200, nanoseconds: 0))])
    }
}
