import Foundation
import TestSupport
import Testing

/// A script of `Clients`, which uses libraries from PyPI.
struct ClientScript {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    static let python = root.appendingPathComponent(".build-oracles/bin/python").path

    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: python) }

    let process: Process
    private let output: URL

    /// Starts it.
    ///
    /// - Parameter environment: variables in addition to those of the test.
    init(_ name: String, _ arguments: [String], environment: [String: String] = [:], in directory: String) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: Self.python)
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Clients/\(name)").path
        process.arguments = [script] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
            .merging(["PYTHONDONTWRITEBYTECODE": "1"]) { $1 }
        output = URL(fileURLWithPath: directory).appendingPathComponent("\(name).\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)
        let file = try FileHandle(forWritingTo: output)
        process.standardOutput = file
        process.standardError = file
        try process.run()
    }

    /// What it has printed so far.
    var text: String { String(decoding: (try? Data(contentsOf: output)) ?? Data(), as: UTF8.self) }

    /// The whole lines that it has printed so far.
    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() }

    /// Waits until it has ended.
    ///
    /// - Returns: its exit code.
    func end() async throws -> Int32 {
        let process = process
        try await Bound.wait("the script ends") { !process.isRunning }
        return process.terminationStatus
    }

    /// Waits until it has ended, and expects that all is well.
    func succeed(_ location: SourceLocation = #_sourceLocation) async throws {
        let code = try await end()
        #expect(code == 0, "\(text.suffix(4000))", sourceLocation: location)
    }

    func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }
}
