import DocumentModel
import Foundation
import TestSupport

/// A `StoreTorture` at work, and what it says.
final class TortureProcess: Sendable {
    private let process = Process()
    /// A file, which holds every line that was written, however the process ends.
    private let output: String

    init(directory: String, round: String, seed: UInt64, clients: Int, beside: [String]) throws {
        output = directory + "/output"
        try Data().write(to: URL(fileURLWithPath: output))
        process.executableURL = Self.executable
        process.arguments = [directory, round, "\(seed)", "\(clients)"] + beside
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
        try process.start()
    }

    private static var executable: URL {
        let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        let directory = (tests ?? Bundle.main.executableURL ?? program).deletingLastPathComponent()
        return directory.appendingPathComponent("StoreTorture")
    }

    var isRunning: Bool { process.isRunning }

    /// Kills it, if it still lives.
    ///
    /// - Returns: whether it lived until then; otherwise it gave up of its own accord.
    func kill() async throws -> Bool {
        let lived = process.isRunning
        Foundation.kill(process.processIdentifier, SIGKILL)
        while process.isRunning { try await Task.sleep(for: .milliseconds(2)) }
        return lived
    }

    /// The commits that were acknowledged, by their records.
    var acknowledged: [DocumentPath: Timestamp] {
        var times: [DocumentPath: Timestamp] = [:]
        for line in lines {
            let words = line.split(separator: " ")
            guard words.count == 3, words[0] == "ack", let time = Int64(words[2]),
                let path = try? DocumentPath("log/\(words[1])")
            else { continue }
            times[path] = Timestamp(microseconds: time)
        }
        return times
    }

    /// Whole lines only: the last may have been cut.
    private var lines: [Substring] {
        let text = String(decoding: FileManager.default.contents(atPath: output) ?? Data(), as: UTF8.self)
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    }
}
