/// Finds a crash in what a worker writes to standard error: the runtime's fatal error, and the backtrace after it.
///
/// All of it becomes one record, at the end of the process. Other lines pass, even if they look like the beginning of a
/// crash.
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
    /// The last crash: one that a process has survived was that of a process which it had started.
    private var record: Record?
    /// Whether the lines of a backtrace follow, and whether those of the thread that crashed.
    private var isInReport = false
    private var isOfCrashedThread = true
    /// Whether a line without text was held back: one stands before a backtrace.
    private var heldBlank = false
    /// Whether the last line ended a backtrace, after which an empty one follows.
    private var hasEnded = false

    /// How the process crashes or has crashed, as far as it is known by now; nil if it hasn't.
    var message: String? { record?.message }

    /// - Returns: what is to be logged now.
    mutating func read(_ line: String) -> [Output] {
        if !isInReport, let text = Self.crash(in: line) {
            record = Record(message: fatal ?? text, frames: [])
            (isInReport, isOfCrashedThread, heldBlank) = (true, true, false)
            return []
        }
        if isInReport {
            if line.hasPrefix("Backtrace took ") {
                (fatal, isInReport, hasEnded) = (nil, false, true)
            } else if let text = Self.crash(in: line) {
                if fatal == nil { record?.message = text }
            } else if let frame = Self.frame(in: line) {
                if isOfCrashedThread, record?.frames.count ?? 0 < Self.maxFrames { record?.frames.append(frame) }
            } else if Self.isThread(line) {
                isOfCrashedThread = line.hasSuffix(" crashed:")
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
            fatal = line
            return held
        }
        return held + [.line(line)]
    }

    /// The process has ended.
    mutating func end() -> [Output] {
        defer { self = CrashReport() }
        if !isInReport, let fatal {
            // It ended without a backtrace.
            record = Record(message: fatal, frames: [])
        }
        return record.map { [.record($0)] } ?? flush()
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
    }

    /// `Thread 1 "worker" crashed:`, or of another thread without the last word.
    private static func isThread(_ line: String) -> Bool { line.hasPrefix("Thread ") && line.hasSuffix(":") }
}
