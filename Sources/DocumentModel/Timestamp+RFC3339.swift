extension Timestamp {
    /// `2026-01-02T03:04:05.678Z`: no fraction, or one of 3, 6 or 9 digits, as protobuf's JSON has it.
    public var rfc3339: String {
        let days = Self.floorDivide(seconds, 86_400)
        let secondOfDay = Int(seconds - days * 86_400)
        let date = CivilDate(daysSince1970: days)
        var text = [UInt8]()
        text.reserveCapacity(30)
        func digits(_ value: Int, _ width: Int) {
            var divisor = 1
            for _ in 1..<width { divisor *= 10 }
            while divisor > 0 {
                text.append(UInt8(48 + value / divisor % 10))
                divisor /= 10
            }
        }
        digits(date.year, 4)
        text.append(UInt8(ascii: "-"))
        digits(date.month, 2)
        text.append(UInt8(ascii: "-"))
        digits(date.day, 2)
        text.append(UInt8(ascii: "T"))
        digits(secondOfDay / 3600, 2)
        text.append(UInt8(ascii: ":"))
        digits(secondOfDay / 60 % 60, 2)
        text.append(UInt8(ascii: ":"))
        digits(secondOfDay % 60, 2)
        if nanoseconds != 0 {
            text.append(UInt8(ascii: "."))
            if nanoseconds % 1_000_000 == 0 {
                digits(Int(nanoseconds / 1_000_000), 3)
            } else if nanoseconds % 1000 == 0 {
                digits(Int(nanoseconds / 1000), 6)
            } else {
                digits(Int(nanoseconds), 9)
            }
        }
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`; nil where it is anything else.
    /// Digits beyond the nanosecond are cut off. A leap second counts as the second after it.
    public init?(rfc3339 string: String) {
        var rest = Substring(string).utf8
        func number(_ width: Int) -> Int? {
            guard rest.count >= width else { return nil }
            var value = 0
            for byte in rest.prefix(width) {
                guard (48...57).contains(byte) else { return nil }
                value = value * 10 + Int(byte - 48)
            }
            rest = rest.dropFirst(width)
            return value
        }
        func take(_ characters: String) -> Bool {
            guard let first = rest.first, characters.utf8.contains(first) else { return false }
            rest = rest.dropFirst()
            return true
        }
        guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2),
            take("Tt "), let hour = number(2), take(":"), let minute = number(2), take(":"),
            let second = number(2), hour < 24, minute < 60, second <= 60,
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        var nanoseconds: Int32 = 0
        if take(".") {
            var scale: Int32 = 100_000_000
            var any = false
            while let byte = rest.first, (48...57).contains(byte) {
                nanoseconds += Int32(byte - 48) * scale
                scale /= 10
                any = true
                rest = rest.dropFirst()
            }
            guard any else { return nil }
        }
        var offset = 0
        if !take("Zz") {
            let sign: Int
            if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
            guard let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60 else {
                return nil
            }
            offset = sign * (hours * 3600 + minutes * 60)
        }
        guard rest.isEmpty else { return nil }
        let seconds = date.daysSince1970 * 86_400 + Int64(hour * 3600 + minute * 60 + second - offset)
        self.init(seconds: seconds, nanoseconds: nanoseconds)
        guard isInRange else { return nil }
    }

    static func floorDivide(_ a: Int64, _ b: Int64) -> Int64 {
        let (quotient, remainder) = a.quotientAndRemainder(dividingBy: b)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

/// A day of the proleptic Gregorian calendar.
struct CivilDate {
    var year: Int
    var month: Int
    var day: Int

    /// Counts in eras of 400 years whose years begin on 1 March, so that leap days fall at the end.
    init(daysSince1970 days: Int64) {
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

    /// Nil where there is no such day.
    init?(year: Int, month: Int, day: Int) {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1 else { return nil }
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let length = month == 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
        guard day <= length else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    var daysSince1970: Int64 {
        let shiftedYear = Int64(month <= 2 ? year - 1 : year)
        let era = Timestamp.floorDivide(shiftedYear, 400)
        let yearOfEra = shiftedYear - era * 400
        let shiftedMonth = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * shiftedMonth + 2) / 5 + Int64(day) - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
