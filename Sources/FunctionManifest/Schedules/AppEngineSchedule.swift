/// `every N (hours|minutes|mins) [from HH:MM to HH:MM | synchronized]`
package struct IntervalSchedule: Equatable, Sendable {
    package let minutes: Int
    /// The minutes of each day at which the job runs, ascending; nil if it depends on the end of the previous run.
    package let times: [Int64]?

    /// - Parameter words: In lower case, beginning with `every` and a number.
    init(_ words: [String]) throws(ScheduleError) {
        guard words.count >= 3, let count = CalendarNames.number(words[1][...]), (1...44_640).contains(count) else {
            throw ScheduleError("write how often, such as \"every 5 minutes\"")
        }
        let unit: Int
        switch words[2] {
        case "minutes", "mins", "minute", "min": unit = 1
        case "hours", "hour": unit = 60
        default: throw ScheduleError("\"\(words[2])\" isn't a unit; write minutes or hours")
        }
        let minutes = count * unit
        guard minutes <= 24 * 60 * 31 else { throw ScheduleError("the interval is longer than 31 days") }
        self.minutes = minutes
        let rest = Array(words.dropFirst(3))
        if rest.isEmpty {
            times = nil
        } else if rest == ["synchronized"] {
            guard 24 * 60 % minutes == 0 else {
                throw ScheduleError("a synchronized interval must divide a day, such as 5 minutes or 6 hours")
            }
            times = Self.times(from: 0, to: 24 * 60 - 1, each: minutes)
        } else if rest.count == 4, rest[0] == "from", rest[2] == "to" {
            times = Self.times(
                from: try TimeOfDay.minutes(rest[1]), to: try TimeOfDay.minutes(rest[3]), each: minutes)
        } else {
            throw ScheduleError(
                "\"\(rest.joined(separator: " "))\" isn't allowed here; write \"from HH:MM to HH:MM\" or \"synchronized\""
            )
        }
    }

    /// The times of day in a window, which may extend past midnight.
    private static func times(from first: Int, to last: Int, each minutes: Int) -> [Int64] {
        let end = last < first ? last + 24 * 60 : last
        return stride(from: first, through: end, by: minutes).map { Int64($0 % (24 * 60)) }.sorted()
    }
}

/// `every day 03:00`, `every mon,tue 09:00`, `1st,third mon of jan,apr 12:00`, `1,15 of month 00:00`
package struct DaySchedule: Equatable, Sendable {
    package private(set) var days: Days
    package private(set) var months: Set<Int>
    /// Minutes since midnight.
    package private(set) var timeOfDay: Int

    package enum Days: Equatable, Sendable {
        case daysOfMonth(Set<Int>)
        /// Ordinals (1...5) of weekdays (0 is Sunday) in a month. For a quarter, in its first month.
        case weekdays(ordinals: Set<Int>, weekdays: Set<Int>)
    }

    private static let ordinals = [
        "1st": 1, "first": 1, "2nd": 2, "second": 2, "3rd": 3, "third": 3, "4th": 4, "fourth": 4, "5th": 5, "fifth": 5,
    ]
    private static let longWeekdays = [
        "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
    ]
    private static let longMonths = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
        "december",
    ]
    private static let form = "write it as \"every day 03:00\", \"1st mon of jan 12:00\" or \"1,15 of month 00:00\""

    /// - Parameter words: In lower case.
    init(_ words: [String]) throws(ScheduleError) {
        guard let time = words.last, words.count >= 3 else { throw ScheduleError("it has too few words; \(Self.form)") }
        timeOfDay = try TimeOfDay.minutes(time)
        let rest = Array(words.dropLast())
        let split = rest.firstIndex(of: "of")
        let dayWords = Array(rest[..<(split ?? rest.count)])
        let monthWords = split.map { Array(rest[($0 + 1)...]) }
        guard monthWords.map({ $0.count == 1 }) ?? true else {
            throw ScheduleError("write months after \"of\"; \(Self.form)")
        }
        let monthText = monthWords?[0] ?? "month"
        months = try Self.months(monthText)
        if dayWords.count == 1, let numbers = try Self.daysOfMonth(dayWords[0]) {
            guard CalendarNames.hasDay(of: numbers, in: months) else {
                throw ScheduleError("none of its months has such a day, so it would never run")
            }
            days = .daysOfMonth(numbers)
            return
        }
        guard dayWords.count == 2 else { throw ScheduleError("its days are invalid; \(Self.form)") }
        let isEvery = dayWords[0] == "every"
        let ordinals = isEvery ? Set(1...5) : try Self.list(dayWords[0], "ordinal") { Self.ordinals[$0] }
        guard dayWords[1] != "day" else {
            // The first day of a month is its 1st.
            days = .daysOfMonth(isEvery ? Set(1...31) : ordinals)
            return
        }
        let weekdays = try Self.list(dayWords[1], "weekday") { word in
            CalendarNames.weekdays.firstIndex(of: word) ?? Self.longWeekdays.firstIndex(of: word)
        }
        days = .weekdays(ordinals: ordinals, weekdays: weekdays)
    }

    /// Nil if the word doesn't list days of the month.
    private static func daysOfMonth(_ word: String) throws(ScheduleError) -> Set<Int>? {
        guard word.first?.isNumber == true, ordinals[String(word.prefix { $0 != "," })] == nil else { return nil }
        return try list(word, "day of the month") {
            CalendarNames.number($0[...]).flatMap { (1...31).contains($0) ? $0 : nil }
        }
    }

    private static func months(_ word: String) throws(ScheduleError) -> Set<Int> {
        switch word {
        case "month": Set(1...12)
        case "quarter": [1, 4, 7, 10]
        default:
            try list(word, "month") { word in
                (CalendarNames.months.firstIndex(of: word) ?? longMonths.firstIndex(of: word)).map { $0 + 1 }
            }
        }
    }

    private static func list(
        _ word: String, _ kind: String, _ read: (String) -> Int?
    ) throws(ScheduleError) -> Set<Int> {
        var values: Set<Int> = []
        for item in word.split(separator: ",", omittingEmptySubsequences: false) {
            guard let value = read(String(item)) else {
                throw ScheduleError("\"\(item)\" isn't a valid \(kind); \(form)")
            }
            values.insert(value)
        }
        return values
    }
}
