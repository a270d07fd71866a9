import NIOCore

/// How fast a client takes what it is sent. One that takes next to nothing is let go, so that it doesn't hold memory for ever;
/// one on a slow line, or with much to do for each part, has the time it needs.
struct ClientPace {
    private(set) var written = 0
    private(set) var taken = 0
    /// How much that was at the last look, and when it was.
    private var last = (written: 0, taken: 0, at: NIODeadline.distantPast)

    /// In this time, a client takes as many bytes, or all that there were.
    static let patience = TimeAmount.minutes(5)
    static let leastBytes = 64 * 1024

    var unsent: Int { written - taken }

    mutating func wrote(_ count: Int) { written += count }

    mutating func took(_ count: Int) { taken += count }

    /// To be called every few seconds to minutes.
    ///
    /// - Returns: whether the client is too slow.
    mutating func look(now: NIODeadline) -> Bool {
        guard now - last.at >= Self.patience else { return false }
        // What was written since the last look may be on its way.
        let isSlow = taken < last.written && taken - last.taken < Self.leastBytes
        last = (written, taken, now)
        return isSlow
    }
}
