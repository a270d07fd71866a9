import NIOCore

/// How many log lines a worker may still write in this second, printed and logged ones together.
struct LineBudget: Equatable {
    static let linesPerSecond = 1000

    private var windowStart: NIODeadline
    private var lines = 0
    private(set) var dropped = 0

    init(now: NIODeadline) { windowStart = now }

    enum Verdict: Equatable {
        case write
        /// One too many; with the first of a second, `report` is to be called a second later.
        case drop(isFirst: Bool)
    }

    mutating func take(now: NIODeadline) -> Verdict {
        if now - windowStart >= .seconds(1) {
            windowStart = now
            lines = 0
        }
        lines += 1
        guard lines > Self.linesPerSecond else { return .write }
        dropped += 1
        return .drop(isFirst: dropped == 1)
    }

    /// - Returns: how many lines were dropped since the last report.
    mutating func report() -> Int {
        defer { dropped = 0 }
        return dropped
    }
}
