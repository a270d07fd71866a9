/// A date in the proleptic Gregorian calendar.
package struct CivilDate: Hashable, Sendable {
    package var year: Int
    /// 1...12
    package var month: Int
    /// 1...31
    package var day: Int

    /// Counts in eras of 400 years that start on 1 March, so that leap days come last.
    package init(daysSince1970 days: Int64) {
        let shifted = days + 719_468
        let era = Timestamp.floorDivide(shifted, 146_097)
        let dayOfEra = Int(shifted - era * 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + Int(era) * 400 + (month <= 2 ? 1 : 0)
    }

    /// Nil if the date doesn't exist.
    package init?(year: Int, month: Int, day: Int) {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1 else { return nil }
        guard day <= Self.length(ofMonth: month, year: year) else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    package var daysSince1970: Int64 {
        let shiftedYear = Int64(month <= 2 ? year - 1 : year)
        let era = Timestamp.floorDivide(shiftedYear, 400)
        let yearOfEra = shiftedYear - era * 400
        let shiftedMonth = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * shiftedMonth + 2) / 5 + Int64(day) - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    package static func length(ofMonth month: Int, year: Int) -> Int {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// 0 is Sunday.
    package var weekday: Int { Self.weekday(ofDay: daysSince1970) }

    /// The first day of 1970 was a Thursday.
    package static func weekday(ofDay days: Int64) -> Int { Int(days + 4 - Timestamp.floorDivide(days + 4, 7) * 7) }
}
