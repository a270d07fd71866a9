import ControlAPI
import HostConfiguration
import ArgumentParser
import Foundation

/// `functions-host data …`: operations on the data as a whole.
struct DataCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "data",
        abstract: "Backs up, restores, exports, imports, checks, compacts, migrates or clears the data.",
        discussion: """
            If a host runs on the data directory, it performs the operation while it keeps serving; otherwise the command \
            performs it. Exit codes: 0 success, 1 failure, 2 a check found problems or an \
            export leaves out what can't be read, 64 invalid arguments.
            """,
        subcommands: [
            DataBackupCommand.self, DataRestoreCommand.self, DataExportCommand.self, DataImportCommand.self,
            DataCheckCommand.self, DataCompactCommand.self, DataMigrateCommand.self, DataClearCommand.self,
        ])
}

/// The options of all `data` commands.
struct DataOptions: ParsableArguments {
    @Option(help: "The configuration file, which names the data directory and the project.")
    var config = "functions.json"

    @Option(help: "The environment of the configuration file to apply.")
    var env: String?

    @Option(help: "The data directory, instead of the configured one.")
    var data: String?

    @Flag(help: "Write the result as JSON.")
    var json = false

    @Flag(help: "Report progress every second.")
    var verbose = false

    /// - Parameter resultToErrors: Whether to write the result to standard error, because standard output is used for
    ///   data.
    func run(
        resultToErrors: Bool = false,
        _ work: (DataAccess, CommandReport) async throws -> Void
    ) async throws {
        // If the reader of the output exits, writing must fail instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        let report = CommandReport(isJSON: json, isVerbose: verbose, resultToErrors: resultToErrors)
        do {
            var configuration = try HostConfiguration.load(config, environment: env, checkingFiles: false)
            if let data { configuration.data = URL(fileURLWithPath: data).path }
            try await work(DataAccess(configuration), report)
            try report.checkOutput()
        } catch let exit as ExitCode {
            throw exit
        } catch {
            report.fail(error)
            throw ExitCode(1)
        }
    }
}

/// The absolute path of a command's file: the host that performs the operation has another working directory.
func absolutePath(_ file: String) -> String { URL(fileURLWithPath: file).path }
