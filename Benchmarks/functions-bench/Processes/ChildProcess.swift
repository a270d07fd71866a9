import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A server that a benchmark starts and ends. Its output goes to a file.
final class ChildProcess: Sendable {
    private let process: Process
    private let log: URL

    var tree: ProcessTree { ProcessTree(root: process.processIdentifier) }

    /// - Throws: where the program can't be run.
    init(_ program: String, _ arguments: [String], log: URL) throws {
        self.log = log
        try Data().write(to: log)
        let file = try FileHandle(forWritingTo: log)
        process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = file
        process.standardError = file
        try Self.withoutBlockedSignals { try process.run() }
        try file.close()
        RunningChildren.shared.add(process.processIdentifier)
    }

    /// What it has printed so far.
    var output: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }

    /// Waits until it has printed what is looked for, or answers, or whatever `isReady` tells.
    ///
    /// - Throws: ``LoadError`` with the end of its output where it ends before or takes longer.
    func wait<Value>(
        for what: String, within time: Duration = .seconds(60), until isReady: () async throws -> Value?
    ) async throws -> Value {
        let deadline = ContinuousClock.now + time
        while true {
            if let value = try await isReady() { return value }
            guard process.isRunning, ContinuousClock.now < deadline else {
                throw LoadError("\(process.executableURL?.path ?? ""): no \(what). It printed: \(output.suffix(2000))")
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Runs this program once more, until it has printed a line that starts with a word.
    ///
    /// - Returns: the rest of the line.
    static func ownLine(
        _ word: String, of arguments: [String], log: URL, within time: Duration
    ) async throws -> String {
        let child = try ChildProcess(
            Bundle.main.executableURL?.path ?? CommandLine.arguments[0], arguments, log: log)
        do {
            let line = try await child.wait(for: "line of \(arguments[0])", within: time) {
                // Without the last, which may not be whole yet.
                let lines = child.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                return lines.first { $0.hasPrefix(word + " ") }
            }
            await child.stop()
            return String(line.dropFirst(word.count + 1))
        } catch {
            await child.stop()
            throw error
        }
    }

    /// Asks it to end, and kills it where it doesn't within 15 seconds.
    func stop() async {
        process.terminate()
        let deadline = ContinuousClock.now + .seconds(15)
        while process.isRunning {
            if ContinuousClock.now > deadline { kill(process.processIdentifier, SIGKILL) }
            try? await Task.sleep(for: .milliseconds(5))
        }
        RunningChildren.shared.remove(process.processIdentifier)
    }

    /// The threads that tasks run on block all signals, and a child would inherit that: it could not be asked to end.
    private static func withoutBlockedSignals(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var former = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        try body()
    }

    /// A port that nothing listens on at the moment.
    static func freePort() async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port
        try await channel.close()
        guard let port else { throw LoadError("there is no free port") }
        return port
    }
}

/// The processes that must not outlive the benchmarks, whatever ends them.
final class RunningChildren: Sendable {
    static let shared = RunningChildren()

    private let pids = Mutex<Set<Int32>>([])
    private let sources = Mutex<[any DispatchSourceSignal]>([])

    func add(_ pid: Int32) { pids.withLock { _ = $0.insert(pid) } }

    func remove(_ pid: Int32) { pids.withLock { _ = $0.remove(pid) } }

    /// Ends them and this program on SIGINT and SIGTERM.
    func endWithProgram() {
        for number in [SIGINT, SIGTERM] {
            // What is ignored stays ignored in a child; a handler does not.
            signal(number) { _ in }
            sources.withLock { sources in
                let source = DispatchSource.makeSignalSource(signal: number)
                source.setEventHandler {
                    for pid in Self.shared.pids.withLock({ $0 }) { kill(pid, SIGTERM) }
                    exit(128 + number)
                }
                source.resume()
                sources.append(source)
            }
        }
    }
}
