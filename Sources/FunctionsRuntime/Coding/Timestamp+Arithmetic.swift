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
        Timestamp(clampingNanoseconds: time.inNanoseconds.addingReportingOverflow(duration.attoseconds / 1_000_000_000))
    }

    public static func - (time: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(
            clampingNanoseconds: time.inNanoseconds.subtractingReportingOverflow(duration.attoseconds / 1_000_000_000))
    }

    private var inNanoseconds: Int128 { Int128(seconds) * 1_000_000_000 + Int128(nanoseconds) }

    private init(clampingNanoseconds sum: (partialValue: Int128, overflow: Bool)) {
        let (seconds, nanoseconds) = sum.partialValue.quotientAndRemainder(dividingBy: 1_000_000_000)
        let isBeforeSecond = nanoseconds < 0
        self.init(
            seconds: Int64(clamping: isBeforeSecond ? seconds - 1 : seconds),
            nanoseconds: Int32(isBeforeSecond ? nanoseconds + 1_000_000_000 : nanoseconds))
    }

    /// The time from `earlier` to `later`; negative if `later` is the earlier one.
    public static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        .seconds(later.seconds) - .seconds(earlier.seconds) + .nanoseconds(later.nanoseconds - earlier.nanoseconds)
    }

    public static func += (time: inout Timestamp, duration: Duration) { time = time + duration }
    public static func -= (time: inout Timestamp, duration: Duration) { time = time - duration }
}

// MARK: Comparison with dates, to the microsecond

extension Timestamp {
    public static func == (time: Timestamp, date: Date) -> Bool { time == Timestamp(date: date) }
    public static func != (time: Timestamp, date: Date) -> Bool { time != Timestamp(date: date) }
    public static func == (date: Date, time: Timestamp) -> Bool { Timestamp(date: date) == time }
    public static func != (date: Date, time: Timestamp) -> Bool { Timestamp(date: date) != time }
    public static func < (time: Timestamp, date: Date) -> Bool { time < Timestamp(date: date) }
    public static func <= (time: Timestamp, date: Date) -> Bool { time <= Timestamp(date: date) }
    public static func > (time: Timestamp, date: Date) -> Bool { time > Timestamp(date: date) }
    public static func >= (time: Timestamp, date: Date) -> Bool { time >= Timestamp(date: date) }
    public static func < (date: Date, time: Timestamp) -> Bool { Timestamp(date: date) < time }
    public static func <= (date: Date, time: Timestamp) -> Bool { Timestamp(date: date) <= time }
    public static func > (date: Date, time: Timestamp) -> Bool { Timestamp(date: date) > time }
    public static func >= (date: Date, time: Timestamp) -> Bool { Timestamp(date: date) >= time }
}

// A client may have sent the number: a duration that is too long is the longest one.
extension Duration {
    public static func minutes(_ minutes: some BinaryInteger) -> Duration { of(minutes, seconds: 60) }
    public static func minutes(_ minutes: Double) -> Duration { of(minutes, seconds: 60) }
    public static func hours(_ hours: some BinaryInteger) -> Duration { of(hours, seconds: 3600) }
    public static func hours(_ hours: Double) -> Duration { of(hours, seconds: 3600) }

    /// Days of 24 hours.
    public static func days(_ days: some BinaryInteger) -> Duration { of(days, seconds: 86_400) }
    public static func days(_ days: Double) -> Duration { of(days, seconds: 86_400) }

    private static let maxSeconds = Int64.max / 1000

    private static func of(_ count: some BinaryInteger, seconds: Int64) -> Duration {
        .seconds(max(-maxSeconds, min(maxSeconds, Int64(clamping: Int128(Int64(clamping: count)) * Int128(seconds)))))
    }

    /// Zero for what isn't a number.
    private static func of(_ count: Double, seconds: Double) -> Duration {
        let limit = Double(maxSeconds)
        return count.isNaN ? .zero : .seconds(max(-limit, min(limit, count * seconds)))
    }
}
