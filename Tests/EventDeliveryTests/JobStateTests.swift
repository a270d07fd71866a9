import CommitPipeline
import HostTesting
import DocumentModel
import FunctionManifest
import DocumentStore
@testable import EventDelivery
import Testing

/// What a job's policy does with its due times, as a function of times alone.
@Suite struct JobStateTests {
    private static func time(_ text: String) throws -> Timestamp {
        try #require(Timestamp(rfc3339: "2026-01-01T\(text)Z"))
    }

    private static func job(
        _ schedule: String, _ missedRuns: MissedRunsManifest = .once, overlaps: Bool = false
    ) throws -> ScheduledJob {
        let function = ScheduleFixtures.function("job", schedule, missedRuns: missedRuns, overlaps: overlaps)
        return try #require(try ScheduledJob(function))
    }

    /// A job whose record is stored, as of a time.
    private static func state(
        _ schedule: String, _ missedRuns: MissedRunsManifest = .once, overlaps: Bool = false, at start: String
    ) throws -> JobState {
        var state = JobState(
            try job(schedule, missedRuns, overlaps: overlaps), stored: nil, at: try time(start))
        state.stored(state.record, events: [])
        return state
    }

    /// The result of a step as times of day; nil if it has none.
    private static func made(_ state: inout JobState, at now: String, isBlocked: Bool = false) throws -> [String]? {
        guard case .make(let runs, let record) = state.step(at: try time(now), isBlocked: isBlocked) else { return nil }
        let version = try time(now).microseconds
        state.stored(record, events: runs.indices.map { EventID(version: version, ordinal: UInt32($0)) })
        return runs.map { String($0.rfc3339.dropFirst(11).dropLast()) }
    }

    @Test func aNewJobBeginsFromNow() throws {
        var state = try Self.state("0 * * * *", at: "10:30:00")
        #expect(state.wake == (try Self.time("11:00:00")))
        #expect(try Self.made(&state, at: "10:59:59") == nil)
        #expect(try Self.made(&state, at: "11:00:00") == ["11:00:00"])
        #expect(try Self.made(&state, at: "11:00:01") == nil)
        #expect(state.wake == (try Self.time("12:00:00")))
    }

    @Test(arguments: [
        (MissedRunsManifest.once, ["14:00:00"]), (.skip, []), (.all(max: 3), ["12:00:00"]),
        (.all(max: 9), ["11:00:00"]),
    ])
    func missedRunsFollowThePolicy(policy: MissedRunsManifest, expected: [String]) throws {
        var state = try Self.state("0 * * * *", policy, at: "10:30:00")
        #expect(try Self.made(&state, at: "14:20:00") == expected)
        let isAll = if case .all = policy { true } else { false }
        #expect(state.isDue(at: try Self.time("14:20:00")) == isAll)
    }

    @Test func runsThatMayNotOverlapAreMadeUpForOneByOne() throws {
        var state = try Self.state("0 * * * *", .all(max: 3), at: "10:30:00")
        var made: [[String]?] = []
        for minute in 20..<24 { made.append(try Self.made(&state, at: "14:\(minute):00")) }
        #expect(made == [["12:00:00"], ["13:00:00"], ["14:00:00"], nil])
        var overlapping = try Self.state("0 * * * *", .all(max: 3), overlaps: true, at: "10:30:00")
        #expect(try Self.made(&overlapping, at: "14:20:00") == ["12:00:00", "13:00:00", "14:00:00"])
    }

    @Test(arguments: [(MissedRunsManifest.once, ["11:02:00"]), (.skip, []), (.all(max: 9), ["11:01:00"])])
    func whatIsDueWhileTheRunBeforeGoesOnIsMissed(policy: MissedRunsManifest, expected: [String]) throws {
        var state = try Self.state("* * * * *", policy, at: "10:59:30")
        #expect(try Self.made(&state, at: "11:00:00") == ["11:00:00"])
        for second in ["11:01:00", "11:02:00"] {
            #expect(try Self.made(&state, at: second, isBlocked: true) == nil)
            #expect(state.isHeld)
            #expect(state.wake == nil)
        }
        // The last of them is due for some seconds only, and was held all the same.
        #expect(try Self.made(&state, at: "11:02:10") == expected)
        #expect(!state.isHeld || policy == .all(max: 9))
    }

    @Test func aRunThatBeginsALittleLateIsNotMissed() throws {
        for (now, expected) in [("11:00:59", ["11:00:00"]), ("11:01:01", [])] {
            var state = try Self.state("0 * * * *", .skip, at: "10:30:00")
            #expect(try Self.made(&state, at: now) == expected)
            #expect(state.wake == (try Self.time("12:00:00")))
        }
    }

    @Test func aClockThatIsPutBackRunsNothingTwice() throws {
        var state = try Self.state("0 * * * *", at: "10:30:00")
        #expect(try Self.made(&state, at: "11:00:00") == ["11:00:00"])
        #expect(try Self.made(&state, at: "10:59:00") == nil)
        #expect(try Self.made(&state, at: "11:00:00") == nil)
        #expect(try Self.made(&state, at: "12:00:00") == ["12:00:00"])
    }

    @Test func aClockThatWasWrongByMoreThanADayIsNotWaitedFor() throws {
        var state = JobState(
            try Self.job("0 * * * *"), stored: nil, at: try #require(Timestamp(rfc3339: "2027-06-01T00:00:00Z")))
        state.stored(state.record, events: [])
        #expect(try Self.made(&state, at: "10:30:00") == [])
        #expect(state.wake == (try Self.time("11:00:00")))
    }

    @Test func anIntervalCountsFromTheEndOfTheRunBefore() throws {
        var state = try Self.state("every 5 minutes", at: "10:00:00")
        #expect(try Self.made(&state, at: "10:05:00") == ["10:05:00"])
        #expect(state.wake == nil)
        #expect(try Self.made(&state, at: "10:30:00") == nil)
        let event = try #require(state.lastEvent)
        let end = DeliveryEnd(
            id: DeliveryID(event: event, function: "job"), outcome: .dropped, time: try Self.time("10:31:20"))
        state.ended(end)
        #expect(state.wake == (try Self.time("10:36:00")))
        #expect(state.record.lastRun?.end == .init(time: end.time, outcome: .failed))
        #expect(state.isUnsaved)
    }

    /// There is no other time than one: the next is known when this run has ended.
    @Test func anIntervalMakesUpForWhatItMissedOnce() throws {
        var state = try Self.state("every 5 minutes", .all(max: 24), at: "10:00:00")
        #expect(try Self.made(&state, at: "11:02:00") == ["11:00:00"])
        #expect(state.wake == nil)
        var overlapping = try Self.state("every 5 minutes", .all(max: 3), overlaps: true, at: "10:00:00")
        #expect(try Self.made(&overlapping, at: "11:02:00") == ["10:50:00", "10:55:00", "11:00:00"])
    }

    /// The host was killed between the end of the run and its note of it.
    @Test func anIntervalWhoseEndNobodyNotedCountsFromItsBeginning() throws {
        var state = try Self.state("every 5 minutes", at: "10:00:00")
        #expect(try Self.made(&state, at: "10:05:00") == ["10:05:00"])
        var restarted = JobState(state.job, stored: state.record, at: try Self.time("10:06:00"))
        restarted.resume(nil)
        #expect(restarted.wake == (try Self.time("10:10:00")))
        restarted = JobState(state.job, stored: state.record, at: try Self.time("10:06:00"))
        restarted.resume(EventID(version: 1, ordinal: 0))
        #expect(restarted.wake == nil)
    }

    @Test func anIntervalIsNoLongerForAClockThatIsPutBack() throws {
        var state = try Self.state("every 5 minutes", at: "10:00:00")
        #expect(try Self.made(&state, at: "08:00:00") == [])
        #expect(state.wake == (try Self.time("08:05:00")))
    }

    @Test func anIntervalThatOverlapsKeepsItsStep() throws {
        var state = try Self.state("every 5 minutes", overlaps: true, at: "10:00:00")
        #expect(try Self.made(&state, at: "10:05:10") == ["10:05:00"])
        #expect(try Self.made(&state, at: "10:21:10") == ["10:20:00"])
        #expect(state.wake == (try Self.time("10:25:00")))
    }

    @Test func aChangedScheduleBeginsFromNow() throws {
        var state = try Self.state("0 * * * *", at: "10:30:00")
        _ = try Self.made(&state, at: "11:00:00")
        let changed = JobState(try Self.job("30 * * * *"), stored: state.record, at: try Self.time("15:45:00"))
        #expect(changed.wake == (try Self.time("16:30:00")))
        #expect(changed.isUnsaved)
        #expect(changed.record.lastRun == state.record.lastRun)
        let same = JobState(try Self.job("0 * * * *"), stored: state.record, at: try Self.time("15:45:00"))
        #expect(same.wake == (try Self.time("12:00:00")))
    }

    @Test func aRecordIsReadAsItWasWritten() throws {
        var record = ScheduleRecord(
            schedule: "0 * * * *", zone: "Asia/Tokyo", next: nil, asOf: try Self.time("10:00:00"))
        #expect(try ScheduleRecord(record.encoded) == record)
        record.next = try Self.time("11:00:00")
        record.lastRun = .init(due: try Self.time("09:00:00"), made: try Self.time("09:00:01"), isManual: true)
        #expect(try ScheduleRecord(record.encoded) == record)
        record.lastRun?.end = .init(time: try Self.time("09:00:02"), outcome: .dead)
        #expect(try ScheduleRecord(record.encoded) == record)
        for count in record.encoded.indices {
            #expect(throws: DecodingFailure.self) { try ScheduleRecord(Array(record.encoded.prefix(count))) }
        }
    }

    @Test(arguments: [Int64.min, .max, 253_402_300_800_000_000])
    func aRecordWithTimesOfNoYearIsRefused(microseconds: Int64) throws {
        let record = ScheduleRecord(
            schedule: "every 5 minutes", zone: "UTC", next: Timestamp(microseconds: microseconds),
            asOf: Timestamp(microseconds: 0))
        #expect(throws: DecodingFailure.self) { try ScheduleRecord(record.encoded) }
    }
}
