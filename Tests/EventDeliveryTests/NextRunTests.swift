import DocumentModel
import FunctionManifest
@testable import EventDelivery
import Testing

@Suite struct NextRunTests {
    /// The runs that follow each other from an instant on.
    private static func runs(_ text: String, _ zone: String, after start: String, count: Int) throws -> [String] {
        let (schedule, clock) = (try Schedule(text), try ZoneClock(zone: zone))
        var time = try #require(Timestamp(rfc3339: start))
        var runs: [String] = []
        while runs.count < count, let next = schedule.next(after: time, on: clock) {
            runs.append(next.rfc3339)
            time = next
        }
        return runs
    }

    @Test(arguments: [
        // Clocks go from 02:00 to 03:00 on 8 March 2026: what is missed runs at the first minute after.
        (
            "30 2 * * *", "2026-03-07T00:00:00Z",
            ["2026-03-07T07:30:00Z", "2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]
        ),
        (
            "*/30 1-3 8 3 *", "2026-03-01T00:00:00Z",
            ["2026-03-08T06:00:00Z", "2026-03-08T06:30:00Z", "2026-03-08T07:00:00Z"]
        ),
        // From 02:00 back to 01:00 on 1 November: the hour that comes twice runs once.
        ("30 1 * * *", "2026-10-31T12:00:00Z", ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]),
        ("*/20 1 1 11 *", "2026-11-01T05:10:00Z", ["2026-11-01T05:20:00Z", "2026-11-01T05:40:00Z"]),
        ("0 * * * *", "2026-11-01T05:00:00Z", ["2026-11-01T07:00:00Z"]),
        // Intervals that begin at a time of day mean times on the wall as well.
        (
            "every 12 hours synchronized", "2026-03-08T00:00:00Z",
            ["2026-03-08T05:00:00Z", "2026-03-08T16:00:00Z", "2026-03-09T04:00:00Z"]
        ),
        (
            "every 12 hours synchronized", "2026-11-01T03:00:00Z",
            ["2026-11-01T04:00:00Z", "2026-11-01T17:00:00Z", "2026-11-02T05:00:00Z"]
        ),
        (
            "every 45 mins from 00:30 to 02:30", "2026-03-08T05:00:00Z",
            ["2026-03-08T05:30:00Z", "2026-03-08T06:15:00Z", "2026-03-08T07:00:00Z", "2026-03-09T04:30:00Z"]
        ),
        ("every day 02:30", "2026-03-08T00:00:00Z", ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]),
    ])
    func clocksThatChangeMissNothingAndRepeatNothing(text: String, start: String, expected: [String]) throws {
        #expect(try Self.runs(text, "America/New_York", after: start, count: expected.count) == expected)
    }

    @Test(arguments: [
        ("1st,third mon of jan,apr 12:00", ["2026-01-05T12:00:00Z", "2026-01-19T12:00:00Z", "2026-04-06T12:00:00Z"]),
        ("1,15 of month 00:00", ["2026-01-15T00:00:00Z", "2026-02-01T00:00:00Z", "2026-02-15T00:00:00Z"]),
        ("31 of month 09:00", ["2026-01-31T09:00:00Z", "2026-03-31T09:00:00Z", "2026-05-31T09:00:00Z"]),
        ("first sunday of quarter 00:00", ["2026-01-04T00:00:00Z", "2026-04-05T00:00:00Z", "2026-07-05T00:00:00Z"]),
        ("every mon,tue 09:00", ["2026-01-05T09:00:00Z", "2026-01-06T09:00:00Z", "2026-01-12T09:00:00Z"]),
        ("every 6 hours synchronized", ["2026-01-01T12:00:00Z", "2026-01-01T18:00:00Z", "2026-01-02T00:00:00Z"]),
        (
            "every 90 minutes from 10:00 to 14:00",
            ["2026-01-01T10:00:00Z", "2026-01-01T11:30:00Z", "2026-01-01T13:00:00Z", "2026-01-02T10:00:00Z"]
        ),
        (
            "every 2 hours from 22:00 to 02:00",
            ["2026-01-01T22:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T02:00:00Z", "2026-01-02T22:00:00Z"]
        ),
        ("first,3rd day of month 12:00", ["2026-01-01T12:00:00Z", "2026-01-03T12:00:00Z", "2026-02-01T12:00:00Z"]),
        ("every 7 minutes", ["2026-01-01T06:07:00Z", "2026-01-01T06:14:00Z"]),
        ("0 0 29 2 *", ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]),
        ("0 0 13 * fri", ["2026-01-02T00:00:00Z", "2026-01-09T00:00:00Z", "2026-01-13T00:00:00Z"]),
    ])
    func runsFollowEachOther(text: String, expected: [String]) throws {
        #expect(try Self.runs(text, "UTC", after: "2026-01-01T06:00:00Z", count: expected.count) == expected)
    }

    /// Beirut's clocks go from midnight to one, and from midnight back to eleven.
    @Test(arguments: [
        ("0 0 * * *", "2026-03-28T00:00:00Z", ["2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"]),
        ("*/30 * * * *", "2026-03-28T21:25:00Z", ["2026-03-28T21:30:00Z", "2026-03-28T22:00:00Z"]),
        ("30 23 * * *", "2026-10-24T00:00:00Z", ["2026-10-24T20:30:00Z", "2026-10-25T21:30:00Z"]),
        (
            "*/30 * * * *", "2026-10-24T20:15:00Z",
            ["2026-10-24T20:30:00Z", "2026-10-24T22:00:00Z", "2026-10-24T22:30:00Z"]
        ),
    ])
    func clocksMayChangeAtMidnight(text: String, start: String, expected: [String]) throws {
        #expect(try Self.runs(text, "Asia/Beirut", after: start, count: expected.count) == expected)
    }

    @Test func theLatestRunsOfALongSpanAreFoundQuickly() throws {
        let clock = try ZoneClock(zone: "UTC")
        func latest(_ text: String, _ first: String, _ last: String, _ count: Int) throws -> [String] {
            try Schedule(text).runs(
                from: #require(Timestamp(rfc3339: first)), through: #require(Timestamp(rfc3339: last)), latest: count,
                on: clock
            ).map(\.rfc3339)
        }
        let (old, now) = ("2020-01-01T00:00:00Z", "2026-05-05T05:05:30Z")
        #expect(try latest("* * * * *", old, now, 2) == ["2026-05-05T05:04:00Z", "2026-05-05T05:05:00Z"])
        #expect(
            try latest("0 0 29 2 *", "2020-02-29T00:00:00Z", now, 9) == [
                "2020-02-29T00:00:00Z", "2024-02-29T00:00:00Z",
            ])
        #expect(try latest("every day 05:05", old, now, 1) == ["2026-05-05T05:05:00Z"])
        #expect(try latest("every 7 minutes", "2026-05-05T05:00:00Z", now, 9) == ["2026-05-05T05:00:00Z"])
        #expect(try latest("0 0 1 1 *", "2027-01-01T00:00:00Z", now, 1).isEmpty)
    }

    @Test func anUnknownZoneIsTold() {
        #expect { try ZoneClock(zone: "Mars/Olympus") } throws: { "\($0)".contains("isn't a time zone") }
    }
}
