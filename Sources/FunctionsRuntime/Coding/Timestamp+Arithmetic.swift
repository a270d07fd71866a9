public import DocumentModel

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Timestamp {
    /// The current time: in a test, the one of the tester's clock.
    public static var now: Timestamp { InvocationContext.current?.transport.now ?? .wallClock() }

    /// The time this much later, to the nanosecond. A time outside the years 1 to 9999 can't be stored.
    public static func + (time: Timestamp, duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        let nanoseconds = Int64(time.nanoseconds) + attoseconds / 1_000_000_000
        let carry = nanoseconds < 0 ? -1 : nanoseconds / 1_000_000_000
        let (sum, isLarge) = time.seconds.addingReportingOverflow(seconds + carry)
        return Timestamp(
            seconds: isLarge ? seconds < 0 ? .min : .max : sum,
            nanoseconds: Int32(nanoseconds - carry * 1_000_000_000))
    }

    public static func - (time: Timestamp, duration: Duration) -> Timestamp { time + (.zero - duration) }

    /// The time from `earlier` to `later`; negative if `later` is the earlier one.
    public static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        .seconds(later.seconds) - .seconds(earlier.seconds) + .nanoseconds(later.nanoseconds - earlier.nanoseconds)
    }

    public static func += (time: inout Timestamp, duration: Duration) { time = time + duration }
    public static func -= (time: inout Timestamp, duration: Duration) { time = time - duration }
}

// MARK: Comparison with dates, to the microsecond

extension Timestamp {
    public static func < (time: Timestamp, date: Date) -> Bool { time < Timestamp(date: date) }
    public static func <= (time: Timestamp, date: Date) -> Bool { time <= Timestamp(date: date) }
    public static func > (time: Timestamp, date: Date) -> Bool { time > Timestamp(date: date) }
    public static func >= (time: Timestamp, date: Date) -> Bool { time >= Timestamp(date: date) }
    public static func < (date: Date, time: Timestamp) -> Bool { Timestamp(date: date) < time }
    public static func <= (date: Date, time: Timestamp) -> Bool { Timestamp(date: date) <= time }
    public static func > (date: Date, time: Timestamp) -> Bool { Timestamp(date: date) > time }
    public static func >= (date: Date, time: Timestamp) -> Bool { Timestamp(date: date) >= time }
}

extension Duration {
    public static func minutes(_ minutes: some BinaryInteger) -> Duration { .seconds(60) * Int64(minutes) }
    public static func minutes(_ minutes: Double) -> Duration { .seconds(minutes * 60) }
    public static func hours(_ hours: some BinaryInteger) -> Duration { .seconds(3600) * Int64(hours) }
    public static func hours(_ hours: Double) -> Duration { .seconds(hours * 3600) }

    /// Days of 24 hours.
    public static func days(_ days: some BinaryInteger) -> Duration { .seconds(86_400) * Int64(days) }
    public static func days(_ days: Double) -> Duration { .seconds(days * 86_400) }
}
