import FunctionManifest
import HostProcess
@preconcurrency import Dispatch
import Foundation
import Logging
import Workers

/// The bundle's executable while it serves standalone.
struct ServingProgram: Sendable {
    let name: String
    let manifest: Manifest

    /// The running executable, even if its file has been replaced meanwhile.
    private static var executable: String {
        #if os(Linux)
            "/proc/self/exe"
        #else
            Bundle.main.executablePath ?? CommandLine.arguments[0]
        #endif
    }

    /// Serves until one of ``StopSignals``, then exits.
    func run(_ request: ServingRequest) -> Never {
        // A closed output pipe must not end the process.
        signal(SIGPIPE, SIG_IGN)
        ProcessLimits.openStandardFiles()
        let environment: ServingEnvironment
        do throws(HostError) {
            ProcessLimits.raiseOpenFiles()
            try ProcessLimits.requireOpenFiles()
            environment = try ServingEnvironment(request.variables, port: request.port)
        } catch {
            write("\(error)", isOnPlatform: ServingEnvironment.isOnPlatform(request.variables))
            exit(78)
        }
        ProcessLimits.returnFreedMemory()
        ProcessLimits.runInShortTurns()
        let isOnPlatform = environment.isOnPlatform
        let writer =
            isOnPlatform
            ? LogWriter(to: FileHandle.standardOutput) {
                CloudLogHandler.line(.warning, LogWriter.message(dropped: $0))
            }
            : LogWriter()
        writer.start()
        LoggingSystem.bootstrap { label in
            isOnPlatform
                ? CloudLogHandler(label: label, writer: writer) as any LogHandler
                : ConsoleLogHandler(label: label, writer: writer)
        }
        Task {
            let calls =
                isOnPlatform
                ? CallLog(console: writer, archive: nil) { CloudLogHandler.line($0) }
                : CallLog(console: writer, archive: nil)
            let status = await serve(environment, calls: calls)
            writer.flush()
            exit(status)
        }
        dispatchMain()
    }

    /// - Returns: The exit code.
    private func serve(_ environment: ServingEnvironment, calls: CallLog) async -> Int32 {
        let logger = Logger(label: "host")
        do {
            let server = try await BundleServer(
                BundleServer.Bundle(name: name, manifest: manifest, executable: Self.executable), in: environment,
                calls: calls, logsAllCalls: !environment.isOnPlatform, logger: logger)
            try await server.run(gracefulShutdownSignals: StopSignals.all)
            return 0
        } catch {
            write("\(error)", isOnPlatform: environment.isOnPlatform)
            return error is HostError ? 78 : 1
        }
    }

    /// Writes why the server can't start, one line each, in the log format.
    private func write(_ message: String, isOnPlatform: Bool) {
        let lines = message.split(separator: "\n").map { sentence in
            isOnPlatform
                ? CloudLogHandler.line(.critical, "\(name): \(sentence)") : "\(name): \(sentence)\n"
        }.joined()
        try? FileHandle.standardError.write(contentsOf: Data(lines.utf8))
    }
}
