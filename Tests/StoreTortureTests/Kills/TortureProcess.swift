import DocumentModel
import Foundation
import Synchronization

/// A `StoreTorture` at work, and what it says.
final class TortureProcess: Sendable {
    private let process = Process()
    private let output = Mutex(Data())
    private let ended = Mutex(false)

    init(directory: String, round: String, seed: UInt64, clients: Int, beside: [String]) throws {
        process.executableURL = Self.executable
        process.arguments = [directory, round, "\(seed)", "\(clients)"] + beside
        let pipe = Pipe()
        pipe.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty {
                handle.readabilityHandler = nil
                self?.ended.withLock { $0 = true }
            } else {
                self?.output.withLock { $0.append(data) }
            }
        }
        process.standardOutput = pipe
        try process.run()
    }

    private static var executable: URL {
        let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        let directory = (tests ?? Bundle.main.executableURL ?? program).deletingLastPathComponent()
        return directory.appendingPathComponent("StoreTorture")
    }

    var isRunning: Bool { process.isRunning }

    /// Whether it has opened the store and begun.
    var isReady: Bool { lines.contains("ready") }

    /// Kills it, if it still lives, and waits until all it said is here.
    ///
    /// - Returns: whether it lived until then; otherwise it gave up of its own accord.
    func kill() async throws -> Bool {
        let lived = process.isRunning
        Foundation.kill(process.processIdentifier, SIGKILL)
        while process.isRunning || !ended.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
        return lived
    }

    /// The commits it was told of, by their records.
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
        let text = String(decoding: output.withLock { $0 }, as: UTF8.self)
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    }
}
