extension Timestamp {
    /// The time this many seconds later, at most the last representable time.
    package func after(seconds: Double) -> Timestamp {
        let end = Double(Self.latest.microseconds)
        let sum = Double(microseconds) + (seconds * 1_000_000).rounded(.up)
        guard sum < end else { return Self.latest }
        return Timestamp(microseconds: microseconds + Int64((seconds * 1_000_000).rounded(.up)))
    }

    /// The seconds from `other` to this time; negative if `other` is later.
    package func seconds(since other: Timestamp) -> Double { Double(microseconds - other.microseconds) / 1_000_000 }

    /// Days since 1970 in UTC.
    package var day: Int64 { Int64((Double(seconds) / 86_400).rounded(.down)) }

    private static let latest = Timestamp(seconds: 253_402_300_799, nanoseconds: 0)
}
