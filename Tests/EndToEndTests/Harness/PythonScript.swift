import Foundation

/// A script that runs with the Python packages of `.ci/oracles`, and answers lines with lines.
final class PythonScript: @unchecked Sendable {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let python = root.appendingPathComponent(".build-oracles/bin/python").path

    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: python) }

    // Started in the initialiser, and ended in `end`; the pipe and the file are used by one test.
    private let process = Process()
    private let input = Pipe()
    private let written: (output: OutputFile, errors: OutputFile)
    private var answered = 0

    /// - Parameters:
    ///   - name: of a file in `Tests/EndToEndTests/Documents`.
    ///   - directory: for its output.
    init(_ name: String, _ arguments: [String], in directory: HostDirectory, environment: [String: String] = [:]) throws
    {
        let file = directory.path + "/" + UUID().uuidString
        written = (try OutputFile(file: file + ".out"), try OutputFile(file: file + ".err"))
        process.executableURL = URL(fileURLWithPath: Self.python)
        process.arguments = [Self.root.path + "/Tests/EndToEndTests/Documents/" + name] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
        process.standardInput = input
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: written.output.file))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: written.errors.file))
        try process.run()
    }

    deinit { kill() }

    func kill() { if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) } }

    /// What was printed since the last call, once there is a line more.
    func nextLine() async throws -> String {
        try await Bound.wait("the script prints a line; its errors: \(written.errors.text.suffix(3000))") {
            self.lines.count > self.answered || !self.process.isRunning
        }
        guard lines.count > answered else {
            throw Bound.Exceeded(description: "the script ended: \(written.errors.text.suffix(3000))")
        }
        answered += 1
        return lines[answered - 1]
    }

    /// Sends a line, and returns the next one that is printed.
    func ask(_ line: String) async throws -> String {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
        return try await nextLine()
    }

    func end() async throws {
        try input.fileHandleForWriting.close()
        try await Bound.wait("the script ends") { !self.process.isRunning }
    }

    /// Complete lines.
    private var lines: [String] {
        written.output.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
}
