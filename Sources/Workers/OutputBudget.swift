import NIOCore

/// What a worker may write per second: lines, printed or logged, bytes of logged ones, printed bytes, and bytes of
/// frames that are dropped.
struct OutputBudget: Equatable {
    static let linesPerSecond = 1000
    /// Dropped lines must be read too; this bounds their bytes.
    static let bytesPerSecond = 1024 * 1024
    /// Bytes of dropped frames: an event loop has to read them, and serves other workers, too.
    static let wastePerSecond = 16 * 1024 * 1024

    private var windowStart: NIODeadline
    private var lines = 0
    private var loggedBytes = 0
    private var bytes = 0
    private var wasted = 0
    private(set) var dropped = 0

    init(now: NIODeadline) { windowStart = now }

    enum Verdict: Equatable {
        case write
        /// Over the bound. After the first drop in a second, call ``report()`` a second later.
        case drop(isFirst: Bool)
    }

    /// - Parameter bytes: the size of a logged line, which is still to be decoded; 0 for a printed one.
    mutating func take(_ bytes: Int = 0, now: NIODeadline) -> Verdict {
        renew(now)
        lines += 1
        loggedBytes += bytes
        guard lines > Self.linesPerSecond || loggedBytes > Self.bytesPerSecond else { return .write }
        dropped += 1
        return .drop(isFirst: dropped == 1)
    }

    /// - Parameters:
    ///   - count: the bytes that were read.
    ///   - lines: the lines that end in them: each costs as much as some bytes.
    /// - Returns: how long to stop reading the worker's output; nil if more may be read.
    mutating func read(_ count: Int, lines: Int, now: NIODeadline) -> TimeAmount? {
        renew(now)
        bytes += count + lines * Self.bytesOfLine
        guard bytes >= Self.bytesPerSecond else { return nil }
        return windowStart + .seconds(Int64(bytes / Self.bytesPerSecond)) - now
    }

    private static let bytesOfLine = 32

    /// - Parameter count: the bytes of a frame that is dropped: a line beyond the bounds, or one of an ended invocation.
    /// - Returns: how long to stop reading the link; nil if more may be read.
    mutating func waste(_ count: Int, now: NIODeadline) -> TimeAmount? {
        renew(now)
        wasted += count + Self.bytesOfFrame
        guard wasted >= Self.wastePerSecond else { return nil }
        return windowStart + .seconds(Int64(wasted / Self.wastePerSecond)) - now
    }

    private static let bytesOfFrame = 64

    private mutating func renew(_ now: NIODeadline) {
        guard now - windowStart >= .seconds(1) else { return }
        windowStart = now
        (lines, loggedBytes, bytes, wasted) = (0, 0, 0, 0)
    }

    /// - Returns: the number of lines dropped since the last report.
    mutating func report() -> Int {
        defer { dropped = 0 }
        return dropped
    }
}
