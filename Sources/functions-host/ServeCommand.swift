import DataDirectory
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

    @Option(
        name: .customLong("import"),
        help: "A file of \"data export\" whose documents the host starts with; the store must have none.")
    var imported: String?

    @Flag(help: "Serve the local builds and ignore deployed releases.")
    var local = false

    @Flag(help: "Rebuild bundles whenever their sources change; implies --local.")
    var watch = false

    @Flag(help: "Log the host's own operations in detail, and what functions log at the level debug.")
    var verbose = false

    func run() async throws {
        // A closed output pipe must not end the process.
        signal(SIGPIPE, SIG_IGN)
        ProcessLimits.returnFreedMemory()
        ProcessLimits.runInShortTurns()
        ProcessLimits.raiseOpenFiles()
        let writer = LogWriter()
        writer.start()
        let archive = LogArchive()
        defer {
            writer.flush()
            archive.writer.flush()
        }
        let level = verbose ? Logger.Level.debug : .info
        LoggingSystem.bootstrap { label in
            var handler = ConsoleLogHandler(label: label, writer: writer, archive: archive.writer)
            handler.logLevel = level
            return handler
        }
        do throws(HostError) {
            try ProcessLimits.requireOpenFiles()
        } catch {
            writer.write("functions-host: \(error)\n")
            throw ExitCode(1)
        }
        let logger = Logger(label: "host")
        let load = { @Sendable [config, env, data, verbose] in
            var configuration = try HostConfiguration.load(config, environment: env)
            if let data { configuration.data = URL(fileURLWithPath: data).path }
            if verbose, configuration.logs.level != .trace { configuration.logs.level = .debug }
            return configuration
        }
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        let directory = (Bundle.main.executableURL ?? program).deletingLastPathComponent().path
        let imports = imported.map { StartImport(file: $0) }
        // Ends the command while it waits for an edit, since a host that has failed to start leaves signals unhandled,
        // and while a host starts whose data or build would stay otherwise.
        var interruption: Task<Void, Never>?
        if ephemeral || watch { interruption = await Self.interruption(writer, archive) }
        while true {
            var watching: BundleWatch?
            let before = watch ? BundleWatch.state(beside: config) : []
            do {
                let configuration = try load()
                watching =
                    watch
                    ? BundleWatch(configuration, hostDirectory: directory, load: load) { logger.notice("\($0)") } : nil
                await watching?.buildAll()
                let host = try await HostServer(
                    configuration, hostDirectory: directory, isEphemeral: ephemeral, isLocal: local || watch,
                    isWatched: watch, imports: imports, console: writer, archive: archive, logger: logger)
                let task = Task { [watching] in await watching?.run(host) }
                defer { task.cancel() }
                return try await host.run(gracefulShutdownSignals: StopSignals.all) { [interruption] addresses in
                    // Signals shut the host down from here on.
                    interruption?.cancel()
                    Self.greet(addresses, host, configuration)
                }
            } catch let error as any CustomStringConvertible & Error {
                writer.write("functions-host: \(error)\n")
                // No edit frees the directory of another host, and the imported file isn't watched.
                guard watch, (error as? DataDirectoryError)?.isInUse != true, !(error is StartImportError) else {
                    throw ExitCode(1)
                }
                writer.write(
                    "functions-host: waiting for a change of functions.json, a file that it names, params, secrets or "
                        + "sources\n")
                if interruption?.isCancelled ?? true {
                    interruption = await Self.interruption(writer, archive)
                }
                try await BundleWatch.change(after: watching, orOf: config, since: before)
            }
        }
    }

    /// Ends the process at a signal, until it is cancelled.
    private static func interruption(_ writer: LogWriter, _ archive: LogArchive) async -> Task<Void, Never> {
        let signals = await UnixSignalsSequence(trapping: StopSignals.all)
        return Task {
            for await _ in signals where !Task.isCancelled {
                archive.close()
                DataDirectory.deleteEphemeral()
                writer.flush()
                BuildInterruption.interruptAll()
                // `exit` would take apart what the start's threads still use.
                _exit(1)
            }
        }
    }

    private static func greet(_ addresses: HostServer.Addresses, _ host: HostServer, _ configuration: HostConfiguration)
    {
        var text = "functions-host serves \(configuration.project) in \(configuration.mode.rawValue) mode\n"
        text += "  functions  \(addresses.scheme)://\(addresses.host):\(addresses.functions)\n"
        text += "  firestore  \(addresses.scheme)://\(addresses.host):\(addresses.firestore)\n"
        text += "  database   \(addresses.scheme)://\(addresses.host):\(addresses.database)\n"
        if let auth = addresses.auth { text += "  auth       \(addresses.scheme)://\(addresses.host):\(auth)\n" }
        if let events = addresses.events { text += "  events     \(addresses.scheme)://\(addresses.host):\(events)\n" }
        if !host.hasRules {
            text += "  there are no security rules for documents: "
            text +=
                configuration.mode == .development ? "every client may read and write\n" : "all clients are denied\n"
        }
        for note in host.releaseNotes { text += "  \(note)\n" }
        for function in host.functionSummaries { text += "  \(function)\n" }
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }
}
