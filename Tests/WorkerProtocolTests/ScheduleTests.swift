@testable import FunctionManifest
import Testing

@Suite struct ScheduleTests {
    @Test(arguments: [
        "0 3 * * *", "*/15 0-6,22 1,15 JAN-MAR MON-FRI", "5/20 * * * 7", "every 5 minutes", "every 12 hours",
        "every 30 mins from 10:00 to 14:00", "every 6 hours synchronized", "every day 00:00", "every monday 09:00",
        "every mon,wed 9:30", "2nd,third mon,wed,thu of march 17:00", "1st monday of sep,oct,nov 17:00",
        "1 of jan,april,july,oct 00:00", "1,15 of month 00:00", "first sunday of quarter 00:00",
        "1st,2nd day of month 04:00", "first mon 10:00", "1st, third mon, tue of jan, feb 10:00", "0 0 * * fri-sun",
    ])
    func publishedFormsAreRead(text: String) { #expect(throws: Never.self) { try Schedule(text) } }

    @Test(arguments: [
        ("", "empty"), ("60 * * * *", "minute"), ("* 24 * * *", "hour"), ("* * 0 * *", "day of month"),
        ("* * * 13 *", "month"), ("* * * * 8", "day of week"), ("* * * * fun", "day of week"),
        ("*/0 * * * *", "isn't a step"), ("5-1 * * * *", "reversed"), ("0 0 30 2 *", "never run"),
        ("every 0 minutes", "how often"), ("every 5 days", "isn't a unit"),
        ("every 7 hours synchronized", "divide a day"),
        ("every 5 minutes from 10:00", "isn't allowed here"), ("every day 25:00", "isn't a time of day"),
        ("every funday 10:00", "isn't a valid weekday"), ("1st mon of never 10:00", "isn't a valid month"),
        ("tomorrow", "too few words"),
        ("6th mon of month 10:00", "isn't a valid ordinal"),
        ("31 of feb,apr 10:00", "never run"), ("+5 * * * *", "minute"), ("every +5 minutes", "isn't a time of day"),
        ("every day +1:30", "isn't a time of day"), ("6-sun * * * *", "minute"), ("0 0 * * wed-mon", "reversed"),
    ])
    func otherFormsAreTold(text: String, part: String) {
        #expect { try Schedule(text) } throws: { "\($0)".contains(part) }
    }

    @Test func cronFieldsAreSets() throws {
        guard case .cron(let cron) = try Schedule("*/20 8-10 1 feb sun,7") else {
            Issue.record("not read as cron")
            return
        }
        #expect(cron.minutes == [0, 20, 40])
        #expect(cron.hours == [8, 9, 10])
        #expect(cron.daysOfMonth == [1])
        #expect(cron.months == [2])
        #expect(cron.daysOfWeek == [0])
    }

    @Test(arguments: [
        ("fri-sun", [5, 6, 0]), ("5-7", [5, 6, 0]), ("7", [0]), ("*/3", [0, 3, 6]), ("1/2", [1, 3, 5]), ("7/2", [0]),
        ("sun-tue", [0, 1, 2]), ("sun", [0]),
    ])
    func daysOfTheWeekAreSevenWhicheverWaySundayIsWritten(text: String, days: [Int]) throws {
        #expect(try CronSchedule(["0", "0", "*", "*", text]).daysOfWeek == Set(days))
    }
}
