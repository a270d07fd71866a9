@testable import Workers
import Testing

struct CrashReportTests {
    private func outputs(_ lines: [String], ends: Bool = true) -> [CrashReport.Output] {
        var report = CrashReport()
        return lines.flatMap { report.read($0) } + (ends ? report.end() : [])
    }

    private static let fatal = "Swift/ContiguousArrayBuffer.swift:692: Fatal error: Index out of range"
    private static let trace = [
        "", "*** Signal 4: Backtracing from 0x7f096996df7f... done ***", "",
        "*** Program crashed: Illegal instruction at 0x00007f096996df7f ***", "",
        "Platform: x86_64 Linux (Debian GNU/Linux 12 (bookworm))", "", "Thread 1 \"-qos.overcommit\" crashed:", "",
        "  0                  0x00007f096996df7f _assertionFailure(_:_:file:line:flags:) + 623 in libswiftCore.so",
        "  1 [ra]             0x0000564e0b4f4e61 S.f(_:) + 64 in t2 at /tmp/t2.swift:2:4",
        "  2 [async] [system] 0x00007f09697cf310 completeTaskWithClosure(swift::AsyncContext*) in libswift.so", "...",
        "",
        "Backtrace took 0.02s", "",
    ]
    private static let frames = [
        "_assertionFailure(_:_:file:line:flags:) + 623 in libswiftCore.so", "S.f(_:) + 64 in t2 at /tmp/t2.swift:2:4",
        "completeTaskWithClosure(swift::AsyncContext*) in libswift.so",
    ]

    @Test func aFatalErrorAndItsBacktraceAreOneRecord() {
        #expect(
            outputs(["before", Self.fatal] + Self.trace)
                == [.line("before"), .record(.init(message: Self.fatal, frames: Self.frames))])
    }

    /// As it is written where the backtrace takes long.
    @Test func theReportMayBeginInTwoLines() {
        var lines = Self.trace
        lines[0...1] = [
            "swift-runtime: failed to suspend thread 15359 while processing a crash; backtraces will be missing", "",
            "*** Signal 4: Backtracing from 0x7f096996df7f...", " done ***",
        ]
        #expect(outputs([Self.fatal] + lines) == [.record(.init(message: Self.fatal, frames: Self.frames))])
    }

    /// A later crash has nothing to do with a message after which the process went on.
    @Test func aFatalErrorAfterWhichOthersPrintIsALine() {
        let message = "Program crashed: Illegal instruction at 0x00007f096996df7f"
        #expect(
            outputs([Self.fatal, "other"] + Self.trace)
                == [.line(Self.fatal), .line("other"), .record(.init(message: message, frames: Self.frames))])
    }

    /// The last crash is the process's own; one before it was that of a process that it had started.
    @Test func thereIsOneRecordAndItComesAtTheEnd() {
        let first = outputs(["before", Self.fatal] + Self.trace + ["after"] + Self.trace, ends: false)
        #expect(first == [.line("before"), .line("after")])
        let message = "Program crashed: Illegal instruction at 0x00007f096996df7f"
        #expect(
            outputs(["before", Self.fatal] + Self.trace + ["after"] + Self.trace)
                == first + [.record(.init(message: message, frames: Self.frames))])
    }

    @Test func theMessageIsKnownBeforeTheBacktraceHasEnded() {
        var report = CrashReport()
        _ = report.read(Self.fatal)
        #expect(report.message == nil)
        for line in Self.trace.prefix(3) { _ = report.read(line) }
        #expect(report.message == Self.fatal)
    }

    @Test func framesOfOtherThreadsAreLeftOut() {
        let others = ["Thread 0:", "", "  0 0x00007f096996df7f poll + 4 in libc.so", ""]
        #expect(
            outputs([Self.fatal] + Self.trace.prefix(11) + others)
                == [.record(.init(message: Self.fatal, frames: Array(Self.frames.prefix(2))))])
    }

    @Test func aTrapWithoutAMessageSaysHowItCrashed() {
        let message = "Program crashed: Illegal instruction at 0x00007f096996df7f"
        #expect(outputs(Self.trace).first == .record(.init(message: message, frames: Self.frames)))
    }

    @Test func aBacktraceThatIsCutOffIsARecordAtTheEnd() {
        #expect(
            outputs([Self.fatal] + Self.trace.prefix(11))
                == [.record(.init(message: Self.fatal, frames: Array(Self.frames.prefix(2))))])
        #expect(outputs([Self.fatal]) == [.record(.init(message: Self.fatal, frames: []))])
    }

    @Test func whatOnlyLooksLikeACrashPasses() {
        let lines = [
            "a", "", "", "b", Self.fatal, "it went on", "Fatal error: x", "x: Fatal error: y", "a.swift:x: Fatal error",
            "  1 [ra] 0x1 f in g", "Backtrace took 1s", "...",
        ]
        #expect(outputs(lines) == lines.map { .line($0) })
    }

    /// A function may print what a client sent: no line of a client's may swallow others.
    @Test func linesWithinAReportThatAreNotOfItPass() {
        let lines = ["*** Program crashed: by a client ***", "other", "more"]
        #expect(
            outputs(lines)
                == [.line("other"), .line("more"), .record(.init(message: "Program crashed: by a client", frames: []))])
        var report = CrashReport()
        _ = report.read(lines[0])
        for _ in 0..<10_000 { _ = report.read("  1 0x1 " + String(repeating: "x", count: 1000)) }
        guard case .record(let record)? = report.end().first else {
            Issue.record("there is no record")
            return
        }
        #expect(record.frames.count == 32)
        #expect(record.frames.allSatisfy { $0.count <= 301 })
    }
}
