import FunctionsHost
import HostConfiguration
import HostProcess
import ArgumentParser
import Foundation
import Logging
import UnixSignals

/// `functions-host serve`
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serves the functions of functions.json until interrupted.")

    @Option(help: "The configuration file.")
    var config = "functions.json"

    @Option(help: "The environment of the configuration file to apply.")
    var env: String?

    @Option(help: "The data directory, instead of the configured one.")
    var data: String?

    @Flag(help: "Use a temporary data directory that is deleted when the host stops.")
    var ephemeral = false

    @Flag(help: "Serve the local builds and ignore deployed releases.")
    var local = false

    @Flag(help: "Rebuild bundles whenever their sources change; implies --local.")
    var watch = false

    @Flag(help: "Log the host's own operations in detail.")
    var verbose = false

    func run() async throws {
        // A closed output pipe must not end the process.
        signal(SIGPIPE, SIG_IGN)
        ProcessLimits.returnFreedMemory()
        ProcessLimits.runInShortTurns()
        ProcessLimits.raiseOpenFiles()
        let writer = LogWriter()
        writer.start()
        defer { writer.flush() }
        let level = verbose ? Logger.Level.debug : .info
        LoggingSystem.bootstrap { label in
            var handler = ConsoleLogHandler(label: label, writer: writer)
            handler.logLevel = level
            return handler
        }
        let logger = Logger(label: "host")
        do {
            let load = { @Sendable [config, env, data] in
                var configuration = try HostConfiguration.load(config, environment: env)
                if let data { configuration.data = URL(fileURLWithPath: data).path }
                return configuration
            }
            let configuration = try load()
            let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            let directory = (Bundle.main.executableURL ?? program).deletingLastPathComponent().path
            let watch =
                watch
                ? BundleWatch(configuration, hostDirectory: directory, load: load) { logger.notice("\($0)") } : nil
            await watch?.buildAll()
            let host = try await HostServer(
                configuration, hostDirectory: directory, isEphemeral: ephemeral, isLocal: local || watch != nil,
                isWatched: watch != nil, logger: logger)
            let watching = Task { await watch?.run(host) }
            defer { watching.cancel() }
            try await host.run(gracefulShutdownSignals: [.sigterm, .sigint]) { addresses in
                Self.greet(addresses, host, configuration)
            }
        } catch let error as any CustomStringConvertible & Error {
            writer.write("functions-host: \(error)\n")
            throw ExitCode(1)
        }
    }

    private static func greet(_ addresses: HostServer.Addresses, _ host: HostServer, _ configuration: HostConfiguration)
    {
        var text = "functions-host serves \(configuration.project) in \(configuration.mode.rawValue) mode\n"
        text += "  functions  http://\(addresses.host):\(addresses.functions)\n"
        text += "  firestore  http://\(addresses.host):\(addresses.firestore)\n"
        if let auth = addresses.auth { text += "  auth       http://\(addresses.host):\(auth)\n" }
        if let events = addresses.events { text += "  events     http://\(addresses.host):\(events)\n" }
        for function in host.functionSummaries { text += "  \(function)\n" }
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }
}
