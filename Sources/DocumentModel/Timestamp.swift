/// A point in time, with nanosecond precision in memory and microsecond precision in storage.
///
/// Firestore supports the years 1 to 9999.
public struct Timestamp: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Seconds since 1970-01-01T00:00:00Z, without leap seconds; negative before.
    public let seconds: Int64
    /// 0..<1_000_000_000; counts forward from `seconds`, also for negative times.
    public let nanoseconds: Int32

    static let secondsRange: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    /// - Precondition: `nanoseconds` is in 0..<1_000_000_000.
    public init(seconds: Int64, nanoseconds: Int32) {
        precondition((0..<1_000_000_000).contains(nanoseconds), "nanoseconds must be in 0..<1_000_000_000")
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Microseconds since 1970, the unit of commit and update times.
    public init(microseconds: Int64) {
        let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        self.init(
            seconds: remainder < 0 ? quotient - 1 : quotient,
            nanoseconds: Int32((remainder < 0 ? remainder + 1_000_000 : remainder) * 1000))
    }

    /// Milliseconds since 1970. A time outside of the years 1 to 9999 becomes the nearest in them.
    package init(milliseconds: Int64) {
        let (quotient, remainder) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        let time = Timestamp(
            seconds: remainder < 0 ? quotient - 1 : quotient,
            nanoseconds: Int32((remainder < 0 ? remainder + 1000 : remainder) * 1_000_000))
        self = min(max(time, Self.earliest), Self.latest)
    }

    /// Microseconds since 1970; higher precision is truncated. A time that 64 bits can't hold is the nearest that they
    /// can.
    public var microseconds: Int64 {
        // Negative seconds are rounded towards 0, so that all microseconds of an Int64 come back.
        let whole = seconds < 0 ? seconds + 1 : seconds
        let rest = Int64(nanoseconds / 1000) - (seconds < 0 ? 1_000_000 : 0)
        let (product, isLarge) = whole.multipliedReportingOverflow(by: 1_000_000)
        let (sum, isLarger) = product.addingReportingOverflow(rest)
        return isLarge || isLarger ? seconds < 0 ? .min : .max : sum
    }

    /// Whether the year is between 1 and 9999.
    public var isInRange: Bool { Self.secondsRange.contains(seconds) }

    /// The time truncated to microseconds, as it is stored.
    public var truncatedToMicroseconds: Timestamp {
        Timestamp(seconds: seconds, nanoseconds: nanoseconds / 1000 * 1000)
    }

    /// The time truncated to milliseconds, as server timestamps in fields are.
    package var truncatedToMilliseconds: Timestamp {
        Timestamp(seconds: seconds, nanoseconds: nanoseconds / 1_000_000 * 1_000_000)
    }

    public static func < (a: Timestamp, b: Timestamp) -> Bool {
        (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
    }

    public var description: String { rfc3339 }
}

extension Timestamp {
    /// The time this many seconds later, within the years 1 to 9999.
    package func after(seconds: Double) -> Timestamp {
        let added = (seconds * 1_000_000).rounded(.up)
        let sum = Double(microseconds) + added
        guard sum < Double(Self.latest.microseconds) else { return Self.latest }
        guard sum > Double(Self.earliest.microseconds), abs(added) < 0x1p62 else { return Self.earliest }
        return Timestamp(microseconds: microseconds + Int64(added))
    }

    /// The seconds from `other` to this time; negative if `other` is later.
    package func seconds(since other: Timestamp) -> Double {
        let (difference, isLarge) = microseconds.subtractingReportingOverflow(other.microseconds)
        return (isLarge ? Double(microseconds) - Double(other.microseconds) : Double(difference)) / 1_000_000
    }

    /// Days since 1970 in UTC.
    package var day: Int64 { Int64((Double(seconds) / 86_400).rounded(.down)) }

    static let earliest = Timestamp(seconds: secondsRange.lowerBound, nanoseconds: 0)
    static let latest = Timestamp(seconds: secondsRange.upperBound, nanoseconds: 0)
}
