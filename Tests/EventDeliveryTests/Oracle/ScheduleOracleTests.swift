import DocumentModel
import FunctionManifest
@testable import EventDelivery
import Foundation
import TestSupport
import Testing

/// Compares our next runs with those of croniter and App Engine's groc. `Docs/schedules.md` lists the intended
/// differences. `SOAK_SECONDS` makes it longer, `SOAK_SEED` repeats the choices of one run.
@Suite struct ScheduleOracleTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let rounds = max(1, (environment["SOAK_SECONDS"].flatMap { Int($0) } ?? 2) / 2)
    private static let questionsPerRound = 600

    private static func seed() -> UInt64 {
        let seed = environment["SOAK_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...999_999)
        print("the schedules' seed is \(seed)")
        return seed
    }

    /// What we tell of a question.
    private static func runs(_ question: ScheduleOracle.Question) throws -> [Int64] {
        let (schedule, clock) = (try Schedule(question.schedule), try ZoneClock(zone: question.zone))
        var time = Timestamp(seconds: question.after, nanoseconds: 0)
        var runs: [Int64] = []
        while runs.count < question.count, let next = schedule.next(after: time, on: clock) {
            runs.append(next.seconds)
            time = next
        }
        return runs
    }

    @Test(
        .enabled(if: ScheduleOracle.hasCroniter, "croniter is not installed: see .ci/run"),
        .endsHangs(afterWorking: 3 * rounds))
    func cronRunsAreThoseOfCroniter() async throws {
        let seed = Self.seed()
        for round in 0..<UInt64(Self.rounds) {
            var random = RandomSchedule(random: SeededGenerator(seed: seed &+ round))
            var questions: [ScheduleOracle.Question] = []
            while questions.count < Self.questionsPerRound {
                let (schedule, zone) = (random.cron(), random.zone())
                // Such as the 30th of February.
                guard (try? Schedule(schedule)) != nil else { continue }
                questions.append(.init(schedule: schedule, zone: zone, after: random.instant(in: zone), count: 6))
            }
            for (question, answer) in zip(questions, try await ScheduleOracle.askCroniter(questions)) {
                try #require(answer.error == nil, "\(question): \(answer.error ?? "")")
                // It gives up long before we do, and what is said of later years may change.
                let (ours, theirs) = (try Self.runs(question).prefix(answer.runs.count), answer.runs[...])
                func isSettled(_ run: Int64) -> Bool { run < RandomSchedule.settled }
                #expect(ours.prefix(while: isSettled) == theirs.prefix(while: isSettled), "\(question)")
            }
        }
    }

    @Test(
        .enabled(if: ScheduleOracle.hasGroc, "google-cloud-cli-app-engine-python is not installed"),
        .endsHangs(afterWorking: 3 * rounds))
    func appEngineRunsAreThoseOfGroc() async throws {
        let seed = Self.seed()
        for round in 0..<UInt64(Self.rounds) {
            var random = RandomSchedule(random: SeededGenerator(seed: seed &+ round))
            let questions = (0..<Self.questionsPerRound).map { _ in
                ScheduleOracle.Question(
                    schedule: random.appEngine(), zone: "UTC", after: random.instant(in: "UTC"), count: 6)
            }
            for (question, answer) in zip(questions, try await ScheduleOracle.askGroc(questions)) {
                guard answer.error == nil else {
                    #expect(throws: ScheduleError.self, "\(question): \(answer.error ?? "")") {
                        try Schedule(question.schedule)
                    }
                    continue
                }
                #expect(try Self.runs(question) == answer.runs, "\(question)")
            }
        }
    }
}
