import Foundation
import Synchronization

/// A `functions-host` that was started, and what it writes.
final class HostProcess: Sendable {
    private struct State {
        var output = ""
        var errors = ""
    }

    private let process = Process()
    private let state = Mutex(State())

    init(_ directory: HostDirectory, arguments: [String] = []) throws {
        process.executableURL = URL(fileURLWithPath: BuiltProducts.host)
        process.arguments = ["serve", "--config", directory.configuration] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe { state, text in state.output += text }
        process.standardError = pipe { state, text in state.errors += text }
        try process.run()
    }

    private func pipe(_ collect: @escaping @Sendable (inout State, String) -> Void) -> Pipe {
        let pipe = Pipe()
        pipe.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            guard !data.isEmpty else { return handle.readabilityHandler = nil }
            self?.state.withLock { collect(&$0, String(decoding: data, as: UTF8.self)) }
        }
        return pipe
    }

    /// All it has written to standard output so far.
    var output: String { state.withLock { $0.output } }
    /// All it has written to standard error so far: its log, and the sentence it ends with.
    var errors: String { state.withLock { $0.errors } }

    var isRunning: Bool { process.isRunning }

    func send(_ signal: Int32) { if process.isRunning { kill(process.processIdentifier, signal) } }

    /// Waits for its end.
    /// - Returns: the exit status, or the number of the signal that ended it.
    @discardableResult
    func end(within limit: Duration = .seconds(30)) async throws -> Int32 {
        try await Bound.wait("the host ends; its log: \(errors.suffix(2000))", within: limit) { !self.isRunning }
        return process.terminationStatus
    }
}
