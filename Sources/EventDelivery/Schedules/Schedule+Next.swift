package import DocumentModel
import FunctionManifest

extension Schedule {
    /// The first run after an instant.
    ///
    /// A local time that is skipped runs at the first minute after the gap. A local time that occurs twice runs once,
    /// the first time.
    ///
    /// - Parameter time: For an interval that counts from the previous run, the end of that run.
    /// - Returns: Nil if there is no run within the range of a timestamp.
    package func next(after time: Timestamp, on clock: ZoneClock) -> Timestamp? {
        let minute = time.wholeMinute
        let next =
            switch self {
            case .cron(let cron): cron.next(after: minute, on: clock)
            case .interval(let interval): interval.next(after: minute, on: clock)
            case .days(let days): days.next(after: minute, on: clock)
            }
        return next.map { Timestamp(seconds: $0 * 60, nanoseconds: 0) }.flatMap { $0.isInRange ? $0 : nil }
    }
}

extension Timestamp {
    /// Minutes since 1970, rounded down.
    fileprivate var wholeMinute: Int64 { seconds >= 0 ? seconds / 60 : (seconds - 59) / 60 }
}

extension ZoneClock {
    /// The first instant after `instant` at which local time starts to show one of the times on a matching day.
    ///
    /// - Parameters:
    ///   - times: Minutes of the day, ascending.
    ///   - matches: Whether a day matches.
    /// - Returns: Minutes since 1970; nil if no day matches within a full calendar cycle.
    func first(after instant: Int64, times: [Int64], on matches: (CivilDate) -> Bool) -> Int64? {
        let local = local(atMinute: instant)
        let today = Self.dayNumber(ofLocal: local)
        for day in today..<today + Self.longestWait where matches(CivilDate(daysSince1970: day)) {
            // Local times that were shown before, or skipped by a gap, aren't after this instant.
            for time in times[times.firstIndex(above: local - day * Self.day)...] {
                // While an hour is shown for the second time, its minutes have already run.
                let candidate = self.instant(ofLocal: day * Self.day + time)
                if candidate > instant { return candidate }
            }
        }
        return nil
    }

    /// 40 years in days: 29 February needs up to 8, and weekdays repeat after 28, or 40 around a century.
    private static let longestWait: Int64 = 40 * 366

    static func dayNumber(ofLocal local: Int64) -> Int64 {
        local >= 0 ? local / day : (local - day + 1) / day
    }
}

extension [Int64] {
    /// The index of the first element above a value, in an ascending array.
    fileprivate func firstIndex(above value: Int64) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] > value { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension CronSchedule {
    fileprivate func next(after instant: Int64, on clock: ZoneClock) -> Int64? {
        clock.first(after: instant, times: times) { day in
            guard months.contains(day.month) else { return false }
            let isDay = daysOfMonth.contains(day.day)
            let isWeekday = daysOfWeek.contains(day.weekday)
            return restrictsDaysOfMonth && restrictsDaysOfWeek ? isDay || isWeekday : isDay && isWeekday
        }
    }
}

extension DaySchedule {
    fileprivate func next(after instant: Int64, on clock: ZoneClock) -> Int64? {
        clock.first(after: instant, times: [Int64(timeOfDay)]) { day in
            guard months.contains(day.month) else { return false }
            switch days {
            case .daysOfMonth(let days): return days.contains(day.day)
            case .weekdays(let ordinals, let weekdays):
                return weekdays.contains(day.weekday) && ordinals.contains((day.day - 1) / 7 + 1)
            }
        }
    }
}

extension IntervalSchedule {
    fileprivate func next(after instant: Int64, on clock: ZoneClock) -> Int64? {
        guard let times else { return instant + Int64(minutes) }
        return clock.first(after: instant, times: times) { _ in true }
    }
}
