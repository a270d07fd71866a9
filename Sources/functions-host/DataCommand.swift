import ControlAPI
import HostConfiguration
import ArgumentParser
import Foundation

/// `functions-host data …`: what is done with the data as a whole.
struct DataCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "data", abstract: "Backs up, restores, exports, imports, checks, compacts or clears the data.",
        discussion: """
            Where a host runs on the data directory it does the work, while it goes on serving; else the command does \
            it. Exit codes: 0 done, 1 not done, 2 a check found problems, 64 wrong arguments.
            """,
        subcommands: [
            DataBackupCommand.self, DataRestoreCommand.self, DataExportCommand.self, DataImportCommand.self,
            DataCheckCommand.self, DataCompactCommand.self, DataClearCommand.self,
        ])
}

/// What all `data` commands take.
struct DataOptions: ParsableArguments {
    @Option(help: "The configuration file, which names the data directory and the project.")
    var config = "functions.json"

    @Option(help: "The environment of the configuration file to lay over it.")
    var env: String?

    @Option(help: "The data directory, in place of the configured one.")
    var data: String?

    @Flag(help: "Write the result as JSON.")
    var json = false

    @Flag(help: "Tell how far the work is each second.")
    var verbose = false

    /// - Parameter resultToErrors: whether standard output is taken by the data.
    func run(
        resultToErrors: Bool = false,
        _ work: (DataPlace, DataReport) async throws -> Void
    ) async throws {
        // Whoever reads the output may go; writing to it fails then.
        signal(SIGPIPE, SIG_IGN)
        let report = DataReport(isJSON: json, isVerbose: verbose, resultToErrors: resultToErrors)
        do {
            var configuration = try HostConfiguration.load(config, environment: env)
            if let data { configuration.data = URL(fileURLWithPath: data).path }
            try await work(DataPlace(configuration), report)
        } catch let exit as ExitCode {
            throw exit
        } catch {
            report.fail(error)
            throw ExitCode(1)
        }
    }
}

/// The path of a command's own file: the host that does the work stands elsewhere.
func absolutePath(_ file: String) -> String { URL(fileURLWithPath: file).path }
