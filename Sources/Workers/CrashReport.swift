/// Finds a crash in what a worker writes to standard error: the runtime's fatal error, and the backtrace after it.
///
/// All of it becomes one record. Other lines pass, even if they look like the beginning of a crash.
struct CrashReport: Equatable {
    /// A crash, for the log and for the failure of what ran.
    struct Record: Equatable {
        /// The fatal error with its place, `Shop/Cart.swift:12: Fatal error: …`, or how the process crashed.
        var message: String
        /// The frames of the thread that crashed, the innermost first: `g(_:) + 80 in Shop at /src/Cart.swift:12:8`.
        var frames: [String]
    }

    enum Output: Equatable {
        case line(String)
        case record(Record)
    }

    private static let maxFrames = 32
    private static let maxFrame = 300

    /// A fatal error that was held back because its backtrace may follow.
    private var fatal: String?
    /// The last fatal error, held back or not.
    private var lastFatal: String?
    private var crash: String?
    private var frames: [String] = []
    /// Whether a line without text was held back: one stands before a backtrace.
    private var heldBlank = false
    /// Whether the last line ended a backtrace, after which an empty one follows.
    private var hasEnded = false

    /// - Returns: what is to be logged now.
    mutating func read(_ line: String) -> [Output] {
        if crash == nil, let text = Self.crash(in: line) {
            (crash, heldBlank) = (text, false)
            return []
        }
        if crash != nil {
            if line.hasPrefix("Backtrace took ") {
                defer { hasEnded = true }
                return end()
            }
            if let text = Self.crash(in: line) {
                crash = text
            } else if let frame = Self.frame(in: line) {
                if frames.count < Self.maxFrames { frames.append(frame) }
            } else if !Self.isOfReport(line) {
                return [.line(line)]
            }
            return []
        }
        if fatal != nil, Self.isOfRuntime(line) { return [] }
        let isBlank = line.allSatisfy(\.isWhitespace)
        if hasEnded {
            hasEnded = false
            if isBlank { return [] }
        }
        if isBlank, !heldBlank {
            heldBlank = true
            return []
        }
        let held = flush()
        if Self.isFatal(line) {
            (fatal, lastFatal) = (line, line)
            return held
        }
        return held + [.line(line)]
    }

    /// The process has ended.
    mutating func end() -> [Output] {
        guard crash != nil || fatal != nil else { return flush() }
        defer { self = CrashReport() }
        return [.record(Record(message: lastFatal ?? crash ?? "", frames: frames))]
    }

    /// What was held back and belongs to no crash.
    private mutating func flush() -> [Output] {
        defer { (fatal, heldBlank) = (nil, false) }
        return (fatal.map { [.line($0)] } ?? []) + (heldBlank ? [.line("")] : [])
    }

    /// `Shop/Cart.swift:12: Fatal error: …`
    private static func isFatal(_ line: String) -> Bool {
        guard let end = line.firstRange(of: ": Fatal error")?.lowerBound else { return false }
        let place = line[..<end]
        guard let colon = place.lastIndex(of: ":") else { return false }
        let number = place[place.index(after: colon)...]
        return place[..<colon].hasSuffix(".swift") && !number.isEmpty && number.allSatisfy(\.isNumber)
    }

    /// `*** Program crashed: Illegal instruction at 0x000055f6fc0f1760 ***`
    private static func crash(in line: String) -> String? {
        if line.hasPrefix("*** Signal "), line.contains(": Backtracing from ") { return "Program crashed" }
        guard line.hasPrefix("*** Program crashed: "), line.hasSuffix(" ***") else { return nil }
        return String(line.dropFirst(4).dropLast(4))
    }

    /// `  3 [ra]  0x0000564e0b4f4e61 S.f(_:) + 64 in t2 at /tmp/t2.swift:2:4`, without number, kind and address.
    private static func frame(in line: String) -> String? {
        let words = line.split(separator: " ", omittingEmptySubsequences: true)
        guard line.first == " ", let number = words.first, number.allSatisfy(\.isNumber),
            let address = words.firstIndex(where: { $0.hasPrefix("0x") }),
            words[1..<address].allSatisfy({ $0.hasPrefix("[") && $0.hasSuffix("]") })
        else { return nil }
        let frame = words[(address + 1)...].joined(separator: " ")
        return frame.count > maxFrame ? frame.prefix(maxFrame) + "…" : frame
    }

    /// What the runtime says while it handles a crash.
    private static func isOfRuntime(_ line: String) -> Bool { line.hasPrefix("swift-runtime: ") }

    private static func isOfReport(_ line: String) -> Bool {
        line.allSatisfy(\.isWhitespace) || line == "..." || line.hasSuffix("done ***") || line.hasPrefix("Platform: ")
            || isOfRuntime(line)
            || line.hasPrefix("Thread ") && line.hasSuffix(" crashed:")
    }
}
