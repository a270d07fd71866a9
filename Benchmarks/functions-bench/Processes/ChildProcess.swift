import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A server process of a benchmark. Its output goes to a file.
final class ChildProcess: Sendable {
    private let process: Process
    private let log: URL

    var tree: ProcessTree { ProcessTree(root: process.processIdentifier) }

    /// - Throws: if the program can't be run.
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

    var isRunning: Bool { process.isRunning }

    /// The output so far.
    var output: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }

    /// Polls until `isReady` returns a value.
    ///
    /// - Throws: ``LoadError`` with the end of the output if the process ends first or takes too long.
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

    /// Runs this program in another process, until it prints a line that starts with a word.
    ///
    /// - Returns: the rest of the line.
    static func outputLine(
        _ word: String, of arguments: [String], log: URL, within time: Duration
    ) async throws -> String {
        let child = try ChildProcess(
            Bundle.main.executableURL?.path ?? CommandLine.arguments[0], arguments, log: log)
        do {
            let line = try await child.wait(for: "line of \(arguments[0])", within: time) {
                // Without the last line, which may be incomplete.
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

    /// Runs a program to its end.
    ///
    /// - Returns: what it printed.
    /// - Throws: ``LoadError`` with the end of that if its status isn't 0.
    @discardableResult
    static func finish(_ command: [String], log: URL) async throws -> String {
        let child = try ChildProcess(command[0], Array(command.dropFirst()), log: log)
        while child.isRunning { try await Task.sleep(for: .milliseconds(50)) }
        RunningChildren.shared.remove(child.process.processIdentifier)
        guard child.process.terminationStatus == 0 else {
            throw LoadError("\(command[0]) failed. It printed: \(child.output.suffix(2000))")
        }
        return child.output
    }

    /// Terminates the process, and kills it if it hasn't ended after 15 seconds.
    func stop() async {
        process.terminate()
        let deadline = ContinuousClock.now + .seconds(15)
        while process.isRunning {
            if ContinuousClock.now > deadline { kill(process.processIdentifier, SIGKILL) }
            try? await Task.sleep(for: .milliseconds(5))
        }
        RunningChildren.shared.remove(process.processIdentifier)
    }

    /// Runs a body with all signals unblocked. Threads that run tasks block all signals; a child would inherit that,
    /// and couldn't be terminated.
    private static func withoutBlockedSignals(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var former = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        try body()
    }

    /// A port that is currently free.
    static func freePort() async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port
        try await channel.close()
        guard let port else { throw LoadError("there is no free port") }
        return port
    }
}

/// The processes that must not outlive this program, however it ends.
final class RunningChildren: Sendable {
    static let shared = RunningChildren()

    private let pids = Mutex<Set<Int32>>([])
    private let sources = Mutex<[any DispatchSourceSignal]>([])

    func add(_ pid: Int32) { pids.withLock { _ = $0.insert(pid) } }

    func remove(_ pid: Int32) { pids.withLock { _ = $0.remove(pid) } }

    /// Ends them and this program on SIGINT and SIGTERM.
    func endWithProgram() {
        for number in [SIGINT, SIGTERM] {
            // Signals that are ignored stay ignored in a child; handlers are reset.
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
