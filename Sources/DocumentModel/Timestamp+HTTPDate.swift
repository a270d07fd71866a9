extension Timestamp {
    /// The time in the form of HTTP's headers (RFC 9110, 5.6.7): `Sat, 21 Nov 2026 08:00:51 GMT`.
    package var httpDate: String {
        let days = Self.floorDivide(seconds, 86_400)
        let second = Int(seconds - days * 86_400)
        let date = CivilDate(daysSince1970: days)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return
            "\(Self.weekdays[date.weekday]), \(two(date.day)) \(Self.months[date.month - 1]) \(date.year) "
            + "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60)) GMT"
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
