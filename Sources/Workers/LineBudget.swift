import NIOCore

/// What a worker may still write in this second: log lines, printed and logged ones together, and bytes that it prints.
struct LineBudget: Equatable {
    static let linesPerSecond = 1000
    /// Lines that are too many must be read to be dropped; of these bytes a second has so many.
    static let bytesPerSecond = 1024 * 1024

    private var windowStart: NIODeadline
    private var lines = 0
    private var bytes = 0
    private(set) var dropped = 0

    init(now: NIODeadline) { windowStart = now }

    enum Verdict: Equatable {
        case write
        /// One too many; with the first of a second, `report` is to be called a second later.
        case drop(isFirst: Bool)
    }

    mutating func take(now: NIODeadline) -> Verdict {
        renew(now)
        lines += 1
        guard lines > Self.linesPerSecond else { return .write }
        dropped += 1
        return .drop(isFirst: dropped == 1)
    }

    /// - Returns: how long no more is to be read of what it prints; nil where more may be.
    mutating func read(_ count: Int, now: NIODeadline) -> TimeAmount? {
        renew(now)
        bytes += count
        return bytes >= Self.bytesPerSecond ? windowStart + .seconds(1) - now : nil
    }

    private mutating func renew(_ now: NIODeadline) {
        guard now - windowStart >= .seconds(1) else { return }
        windowStart = now
        lines = 0
        bytes = 0
    }

    /// - Returns: how many lines were dropped since the last report.
    mutating func report() -> Int {
        defer { dropped = 0 }
        return dropped
    }
}
