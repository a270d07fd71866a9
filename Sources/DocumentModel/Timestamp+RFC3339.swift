extension Timestamp {
    /// `2026-01-02T03:04:05.678Z`, with 0, 3, 6 or 9 fraction digits like protobuf's JSON. A time outside the years 1 to
    /// 9999 is written as the nearest within them.
    public var rfc3339: String {
        var text: [UInt8] = []
        text.reserveCapacity(30)
        writeRFC3339(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends ``rfc3339``.
    package func writeRFC3339(to text: inout [UInt8]) {
        guard isInRange else { return (seconds < 0 ? Self.earliest : Self.latest).writeRFC3339(to: &text) }
        let days = Self.floorDivide(seconds, 86_400)
        let secondOfDay = Int(seconds - days * 86_400)
        let date = CivilDate(daysSince1970: days)
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
    }

    /// Parses `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`; returns nil for anything else. Digits beyond nanoseconds are
    /// dropped. A leap second is read as the following second.
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
