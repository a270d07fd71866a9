import NIOCore

/// What a worker may write per second: lines, printed or logged, and printed bytes.
struct OutputBudget: Equatable {
    static let linesPerSecond = 1000
    /// Dropped lines must be read too; this bounds their bytes.
    static let bytesPerSecond = 1024 * 1024

    private var windowStart: NIODeadline
    private var lines = 0
    private var bytes = 0
    private(set) var dropped = 0

    init(now: NIODeadline) { windowStart = now }

    enum Verdict: Equatable {
        case write
        /// Over the bound. After the first drop in a second, call ``report()`` a second later.
        case drop(isFirst: Bool)
    }

    mutating func take(now: NIODeadline) -> Verdict {
        renew(now)
        lines += 1
        guard lines > Self.linesPerSecond else { return .write }
        dropped += 1
        return .drop(isFirst: dropped == 1)
    }

    /// - Returns: how long to stop reading the worker's output; nil if more may be read.
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

    /// - Returns: the number of lines dropped since the last report.
    mutating func report() -> Int {
        defer { dropped = 0 }
        return dropped
    }
}
