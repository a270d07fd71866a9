import Foundation
import TestSupport

/// A running `functions-host` and its output.
final class HostProcess: Sendable {
    private let process = Process()
    private let written: (output: OutputFile, errors: OutputFile)

    /// - Parameters:
    ///   - path: a directory to prepend to `PATH`.
    ///   - home: the value of `HOME`.
    ///   - temporary: the value of `TMPDIR`.
    ///   - ignoresHangUp: whether it is started to ignore SIGHUP, as by `nohup`.
    ///   - openFiles: how many files the system lets it have open; nil for as many as the tests.
    init(
        _ directory: HostDirectory, arguments: [String] = [], path: String? = nil, home: String? = nil,
        temporary: String? = nil, ignoresHangUp: Bool = false, openFiles: Int? = nil
    ) throws {
        let name = directory.path + "/" + UUID().uuidString
        written = (try OutputFile(file: name + ".out"), try OutputFile(file: name + ".err"))
        let arguments = ["serve", "--config", directory.configuration] + arguments
        let preparation = (ignoresHangUp ? "trap '' HUP; " : "") + (openFiles.map { "ulimit -n \($0); " } ?? "")
        if !preparation.isEmpty {
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", preparation + "exec \"$0\" \"$@\"", BuiltProducts.host] + arguments
        } else {
            process.executableURL = URL(fileURLWithPath: BuiltProducts.host)
            process.arguments = arguments
        }
        process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        var environment = ProcessInfo.processInfo.environment
        if let path { environment["PATH"] = path + ":" + (environment["PATH"] ?? "/usr/bin:/bin") }
        if let home { environment["HOME"] = home }
        if let temporary { environment["TMPDIR"] = temporary }
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: written.output.file))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: written.errors.file))
        try process.start()
    }

    /// The standard output so far.
    var output: String { written.output.text }
    /// The standard error so far: the log, and the error that the host ended with.
    var errors: String { written.errors.text }

    var id: Int32 { process.processIdentifier }

    /// The private memory in bytes; 0 if the process has ended.
    var memory: Int {
        let fields = (try? String(contentsOfFile: "/proc/\(id)/statm", encoding: .utf8))?.split(separator: " ") ?? []
        guard fields.count > 2, let resident = Int(fields[1]), let shared = Int(fields[2]) else { return 0 }
        return (resident - shared) * 4096
    }

    var isRunning: Bool { process.isRunning }

    func send(_ signal: Int32) { if process.isRunning { kill(process.processIdentifier, signal) } }

    /// Waits for the end of the process.
    /// - Returns: the exit status, or the number of the signal that ended it.
    @discardableResult
    func end() async throws -> Int32 {
        try await Bound.wait("the host ends; its log: \(errors.suffix(2000))") { !self.isRunning }
        return process.terminationStatus
    }
}
