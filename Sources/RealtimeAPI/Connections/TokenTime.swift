import NIOCore

/// The time that a token has left. Its end may be any number, so it is reckoned in seconds, which don't overflow.
enum TokenTime {
    /// - Parameters:
    ///   - end: when the token ends, in seconds since 1970.
    ///   - now: in milliseconds since 1970.
    /// - Returns: How long to wait before looking again; nil if the token has ended. A day at most: the clock may be set
    ///   meanwhile.
    static func left(until end: Int64, now: Int64) -> TimeAmount? {
        let now = max(now, 0)
        guard end > now / 1000 else { return nil }
        return .milliseconds(min(end - now / 1000, 86_400) * 1000 - now % 1000)
    }
}
