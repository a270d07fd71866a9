public import DocumentModel

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Timestamp {
    /// The same time rounded to microseconds, which is the precision of the store and of current dates: so a current
    /// time that became a date is the same one again. A date outside the years 1 to 9999 becomes the nearest time within
    /// them.
    public init(date: Date) {
        if let timestamp = Timestamp(exactly: date) {
            self = timestamp
        } else if date.timeIntervalSince1970 > 0 {
            self.init(seconds: 253_402_300_799, nanoseconds: 999_999_000)
        } else {
            self.init(seconds: -62_135_596_800, nanoseconds: 0)
        }
    }

    /// The same time as a `Date`, with a double's precision.
    public func dateValue() -> Date {
        // Computed from the reference date, where a double is more precise than from 1970.
        Date(
            timeIntervalSinceReferenceDate: Double(seconds - Int64(Date.timeIntervalBetween1970AndReferenceDate))
                + Double(nanoseconds) / 1_000_000_000)
    }

    /// Rounded to microseconds. Nil if the date is outside the years 1 to 9999.
    init?(exactly date: Date) {
        let interval = date.timeIntervalSinceReferenceDate
        guard abs(interval) < 1e12 else { return nil }
        let whole = interval.rounded(.down)
        var seconds = Int64(whole) + Int64(Date.timeIntervalBetween1970AndReferenceDate)
        var microseconds = Int32(((interval - whole) * 1_000_000).rounded())
        if microseconds == 1_000_000 {
            seconds += 1
            microseconds = 0
        }
        self.init(seconds: seconds, nanoseconds: microseconds * 1000)
        guard isInRange else { return nil }
    }
}
