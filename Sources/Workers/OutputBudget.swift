import NIOCore

/// What a worker may write in a second: lines, printed and logged ones together, and bytes that it prints.
struct OutputBudget: Equatable {
    static let linesPerSecond = 1000
    /// Dropped lines have to be read too; this bounds the bytes.
    static let bytesPerSecond = 1024 * 1024

    private var windowStart: NIODeadline
    private var lines = 0
    private var bytes = 0
    private(set) var dropped = 0

    init(now: NIODeadline) { windowStart = now }

    enum Verdict: Equatable {
        case write
        /// Beyond the bound. After the first of a second, call ``report()`` a second later.
        case drop(isFirst: Bool)
    }

    mutating func take(now: NIODeadline) -> Verdict {
        renew(now)
        lines += 1
        guard lines > Self.linesPerSecond else { return .write }
        dropped += 1
        return .drop(isFirst: dropped == 1)
    }

    /// - Returns: how long to stop reading what the worker prints; nil if more may be read.
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
