import DocumentModel

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The time of day for the `Date` header.
enum WallClockDate {
    /// Seconds since 1970.
    static var now: Int64 { Int64(time(nil)) }

    static func http(_ seconds: Int64) -> String { Timestamp(seconds: seconds, nanoseconds: 0).httpDate }
}
