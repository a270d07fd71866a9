import Foundation
import TestSupport
import Testing

/// A standalone bundle as a process, and its output.
final class AloneProcess: Sendable {
    private let process = Process()
    private let written: (output: OutputFile, errors: OutputFile)
    private let directory: HostDirectory
    /// A link of its own, which distinguishes its processes from those of other tests.
    private let program: String

    /// - Parameters:
    ///   - environment: all that it sees beside `PATH`.
    ///   - hasInput: whether its standard input is open.
    init(_ arguments: [String] = [], environment: [String: String], hasInput: Bool = true) throws {
        directory = try HostDirectory()
        program = directory.path + "/alone"
        try FileManager.default.createSymbolicLink(atPath: program, withDestinationPath: BuiltProducts.alone)
        written = (
            try OutputFile(file: directory.path + "/alone.out"), try OutputFile(file: directory.path + "/alone.err")
        )
        if hasInput {
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = arguments
        } else {
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", #"exec "$0" "$@" <&-"#, program] + arguments
        }
        process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        process.environment = ["PATH": "/usr/bin:/bin"].merging(environment) { _, new in new }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: written.output.file))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: written.errors.file))
        try process.start()
    }

    var output: String { written.output.text }
    var errors: String { written.errors.text }

    var isRunning: Bool { process.isRunning }

    var id: Int32 { process.processIdentifier }

    /// Its worker processes.
    var workers: [Int32] { ProcessTable.children(of: process.processIdentifier) }

    func send(_ signal: Int32) { if process.isRunning { kill(process.processIdentifier, signal) } }

    /// Waits for its end.
    /// - Returns: the exit status, or the number of the signal that ended it.
    @discardableResult
    func end() async throws -> Int32 {
        try await Bound.wait("the bundle ends; its log: \(errors.suffix(2000))") { !self.isRunning }
        return process.terminationStatus
    }

    /// Waits until it serves.
    func client() async throws -> HTTPClient {
        try await Bound.wait("the bundle serves") {
            guard self.isRunning else {
                throw Bound.Exceeded(description: "the bundle ended at its start: \(self.errors)")
            }
            return self.port != nil
        }
        return HTTPClient(port: try #require(port))
    }

    /// As its log tells it, in either form.
    private var port: Int? {
        // A line that is still being written could end within the number.
        let lines = [output, errors].flatMap { $0.split(separator: "\n", omittingEmptySubsequences: false).dropLast() }
        for line in lines where line.contains("the bundle is served alone") {
            for mark in [" port=", #""port":""#] {
                guard let range = line.firstRange(of: mark) else { continue }
                return Int(line[range.upperBound...].prefix(while: \.isNumber))
            }
        }
        return nil
    }
}

/// A standalone bundle for one test.
struct RunningBundle: Sendable {
    let process: AloneProcess
    let functions: HTTPClient

    static let project = ["PORT": "0", "GOOGLE_CLOUD_PROJECT": "demo-shop", "API_KEY": "sk_test_4eC39HqLyjWDarjtT1"]
    /// Cloud Run or Knative, and a project that can be there.
    static let platform = project.merging(["GOOGLE_CLOUD_PROJECT": "shop-1234", "K_SERVICE": "shop"]) { $1 }
    static let development = project.merging(["FIREBASE_AUTH_EMULATOR_HOST": "127.0.0.1:9"]) { $1 }

    /// Runs a test against a bundle of its own, and sees to it that nothing of it is left.
    ///
    /// - Parameter isSecond: whether the test runs against another one already, and has its slot: tests that wait for a
    ///   second slot could wait for each other.
    static func serving(
        _ environment: [String: String] = project, arguments: [String] = [], isSecond: Bool = false,
        hasInput: Bool = true, _ body: (RunningBundle) async throws -> Void
    ) async throws {
        if !isSecond { await HostSlots.take() }
        defer { if !isSecond { HostSlots.release() } }
        let process = try AloneProcess(arguments, environment: environment, hasInput: hasInput)
        do {
            try await body(RunningBundle(process: process, functions: try await process.client()))
        } catch {
            print("the bundle's log:\n\(process.output.suffix(2000))\n\(process.errors.suffix(4000))")
            process.send(SIGKILL)
            throw error
        }
        let workers = process.workers
        process.send(SIGKILL)
        try await process.end()
        try await Bound.wait("the killed bundle's workers are gone") { !workers.contains { kill($0, 0) == 0 } }
    }

    /// What a bundle writes that doesn't serve, and its exit status.
    static func refusal(
        _ environment: [String: String], arguments: [String] = []
    ) async throws -> (errors: String, status: Int32) {
        let process = try AloneProcess(arguments, environment: environment)
        defer { process.send(SIGKILL) }
        let status = try await process.end()
        return (process.errors, status)
    }

    func call(
        _ name: String, _ data: String, path: String? = nil, headers: [String: String] = [:]
    ) async throws -> HTTPAnswer {
        try await functions.send(
            "POST", path ?? "/demo-shop/us-central1/\(name)",
            headers: ["Content-Type": "application/json"].merging(headers) { _, new in new }, #"{"data":\#(data)}"#)
    }
}
