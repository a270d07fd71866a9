/// A unix-cron schedule: the minutes, hours, days and months in which the job runs.
package struct CronSchedule: Equatable, Sendable {
    let minutes: Set<Int>
    let hours: Set<Int>
    /// Hours and minutes combined: minutes of the day, ascending.
    package let times: [Int64]
    package let daysOfMonth: Set<Int>
    package let months: Set<Int>
    /// 0 is Sunday.
    package let daysOfWeek: Set<Int>
    /// If both day fields are restricted, a day that matches either one matches, as in cron. A field that begins with
    /// `*` counts as unrestricted, so a day must match both `*/2` and the other field.
    package let restrictsDaysOfMonth: Bool
    package let restrictsDaysOfWeek: Bool

    /// - Parameter words: The five fields, in lower case.
    init(_ words: [String]) throws(ScheduleError) {
        minutes = try CronField.minute.values(words[0])
        hours = try CronField.hour.values(words[1])
        let sortedMinutes = minutes.sorted()
        times = hours.sorted().flatMap { hour in sortedMinutes.map { Int64(hour * 60 + $0) } }
        daysOfMonth = try CronField.dayOfMonth.values(words[2])
        months = try CronField.month.values(words[3])
        daysOfWeek = Set(try CronField.dayOfWeek.values(words[4]).map { $0 % 7 })
        restrictsDaysOfMonth = !words[2].hasPrefix("*")
        restrictsDaysOfWeek = !words[4].hasPrefix("*")
        // At least one of the months must have one of the days, or the job would never run.
        guard restrictsDaysOfWeek || CalendarNames.hasDay(of: daysOfMonth, in: months) else {
            throw ScheduleError("no month of the schedule has such a day, so it would never run")
        }
    }
}

/// One field of a cron expression: `*`, numbers or names, ranges `a-b`, lists, and `/step` after a range or `*`.
private struct CronField {
    let name: String
    let range: ClosedRange<Int>
    var names: [String] = []
    var firstName = 0

    static let minute = CronField(name: "minute", range: 0...59)
    static let hour = CronField(name: "hour", range: 0...23)
    static let dayOfMonth = CronField(name: "day of month", range: 1...31)
    static let month = CronField(name: "month", range: 1...12, names: CalendarNames.months, firstName: 1)
    static let dayOfWeek = CronField(name: "day of week", range: 0...7, names: CalendarNames.weekdays)

    func values(_ text: String) throws(ScheduleError) -> Set<Int> {
        var values: Set<Int> = []
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = item.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            var step = 1
            if parts.count == 2 {
                guard let given = CalendarNames.number(parts[1]), given >= 1, given <= range.upperBound else {
                    throw error("\"\(parts[1])\" isn't a step; write a number from 1 to \(range.upperBound)")
                }
                step = given
            }
            let span = try span(parts[0], hasStep: parts.count == 2)
            values.formUnion(stride(from: span.lowerBound, through: span.upperBound, by: step))
        }
        return values
    }

    private func span(_ text: Substring, hasStep: Bool) throws(ScheduleError) -> ClosedRange<Int> {
        // A week has seven days, although Sunday may be written as 0 or 7.
        let end = name == "day of week" ? 6 : range.upperBound
        if text == "*" { return range.lowerBound...end }
        let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let first = try number(ends[0])
        guard ends.count == 2 else { return first...(hasStep ? max(first, end) : first) }
        // A week that ends with Sunday, as in FRI-SUN.
        let last = ends[1] == "sun" && names.first == "sun" && first > 0 ? 7 : try number(ends[1])
        guard first <= last else { throw error("the range \"\(text)\" is reversed") }
        return first...last
    }

    private func number(_ text: Substring) throws(ScheduleError) -> Int {
        if let index = names.firstIndex(of: String(text)) { return index + firstName }
        guard let number = CalendarNames.number(text), range.contains(number) else {
            let alternatives =
                names.isEmpty ? "" : " or \(names[0].uppercased())-\(names[names.count - 1].uppercased())"
            throw error("\"\(text)\" isn't one of \(range.lowerBound)-\(range.upperBound)\(alternatives)")
        }
        return number
    }

    private func error(_ reason: String) -> ScheduleError { ScheduleError("in the field for the \(name): \(reason)") }
}

enum CalendarNames {
    static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    static let weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

    /// Whether at least one of the months has one of the days.
    static func hasDay(of days: Set<Int>, in months: Set<Int>) -> Bool {
        days.contains { day in
            months.contains { day <= ($0 == 2 ? 29 : [4, 6, 9, 11].contains($0) ? 30 : 31) }
        }
    }

    /// Parses a string of digits.
    static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (48...57).contains($0) } ? Int(text) : nil
    }
}
