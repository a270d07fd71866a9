import Foundation
import TestSupport
import Testing

/// A script of `Documents/Clients`, which uses the Python packages of `.ci/oracles`. It may answer lines with lines.
final class ClientScript: @unchecked Sendable {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let python = root.appendingPathComponent(".build-oracles/bin/python").path

    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: python) }

    // Started in the initialiser, and ended in `end`; the pipe and the files are used by one test.
    private let process = Process()
    private let input = Pipe()
    private let output: OutputFile
    private let errors: OutputFile
    private var answered = 0

    /// - Parameters:
    ///   - environment: variables in addition to those of the test.
    ///   - directory: for its output.
    init(_ name: String, _ arguments: [String], environment: [String: String] = [:], in directory: String) throws {
        let file = directory + "/" + name + "." + UUID().uuidString
        (output, errors) = (try OutputFile(file: file + ".out"), try OutputFile(file: file + ".err"))
        process.executableURL = URL(fileURLWithPath: Self.python)
        process.arguments = [Self.root.path + "/Tests/EndToEndTests/Documents/Clients/" + name] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
            .merging(["PYTHONDONTWRITEBYTECODE": "1"]) { $1 }
        process.standardInput = input
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: output.file))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errors.file))
        try process.start()
    }

    deinit { kill() }

    func kill() { if isRunning { Foundation.kill(process.processIdentifier, SIGKILL) } }

    /// Stops it in the midst of whatever it does, until it is resumed.
    func suspend() { Foundation.kill(process.processIdentifier, SIGSTOP) }

    func resume() { Foundation.kill(process.processIdentifier, SIGCONT) }

    var isRunning: Bool { process.isRunning }

    /// The whole lines that it has printed so far.
    var lines: [String] {
        output.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// What it says of failures, and the end of all that it has printed.
    private var end: String {
        let failures = lines.filter { $0.contains("FAILED") || $0.contains("failures are of") }.joined(separator: "\n")
        return "\(failures.prefix(4000))\n\(output.text.suffix(4000))\n\(errors.text.suffix(4000))"
    }

    /// What was printed since the last call, once there is a line more.
    func nextLine() async throws -> String {
        try await Bound.wait("the script prints a line: \(end)") { self.lines.count > self.answered || !self.isRunning }
        guard lines.count > answered else { throw Bound.Exceeded(description: "the script ended: \(end)") }
        answered += 1
        return lines[answered - 1]
    }

    /// Sends a line, and returns the next one that is printed.
    func ask(_ line: String) async throws -> String {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
        return try await nextLine()
    }

    /// Waits until it has ended, and expects that all is well.
    func succeed(_ location: SourceLocation = #_sourceLocation) async throws {
        try input.fileHandleForWriting.close()
        try await Bound.wait("the script ends") { !self.isRunning }
        #expect(process.terminationStatus == 0, "\(end)", sourceLocation: location)
    }
}
