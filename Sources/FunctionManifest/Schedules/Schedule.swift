/// When a scheduled job runs, in local time of its time zone.
///
/// The bundle parses it to refuse invalid schedules, the host to run the job.
package enum Schedule: Equatable, Sendable {
    /// unix-cron: `0 3 * * MON-FRI`.
    case cron(CronSchedule)
    /// App Engine: `every 5 minutes`, with runs at even intervals.
    case interval(IntervalSchedule)
    /// App Engine: `1st,third mon of jan,apr 12:00` or `every day 03:00`, at one time on certain days.
    case days(DaySchedule)

    /// - Throws: ``ScheduleError`` with what is wrong and what to write instead.
    package init(_ text: String) throws(ScheduleError) {
        let words = text.lowercased().split(whereSeparator: \.isWhitespace).map(String.init)
        guard let first = words.first else { throw ScheduleError("the schedule is empty") }
        if first == "every", words.count >= 2, words[1].first?.isNumber == true {
            self = .interval(try IntervalSchedule(words))
        } else if words.count == 5, first != "every", !words.contains("of"), !words[4].contains(":") {
            self = .cron(try CronSchedule(words))
        } else {
            // Here, lists may have spaces after commas.
            let joined = words.reduce(into: [String]()) { joined, word in
                if let last = joined.last, last.hasSuffix(",") || word.hasPrefix(",") {
                    joined[joined.count - 1] = last + word
                } else {
                    joined.append(word)
                }
            }
            self = .days(try DaySchedule(joined))
        }
    }
}

/// Why a schedule is invalid.
package struct ScheduleError: Error, Equatable, CustomStringConvertible {
    package var description: String
    init(_ description: String) { self.description = description }

    /// The error for an unknown time zone.
    package static func unknownZone(_ name: String) -> ScheduleError {
        ScheduleError("\"\(name)\" isn't a time zone; write a name such as Asia/Tokyo or UTC")
    }
}

/// A time of day in minutes, parsed from `HH:MM`.
enum TimeOfDay {
    static func minutes(_ text: String) throws(ScheduleError) -> Int {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...2).contains(parts[0].count), parts[1].count == 2,
            let hour = CalendarNames.number(parts[0]),
            let minute = CalendarNames.number(parts[1]), (0..<24).contains(hour), (0..<60).contains(minute)
        else { throw ScheduleError("\"\(text)\" isn't a time of day; write HH:MM, such as 03:00") }
        return hour * 60 + minute
    }
}
