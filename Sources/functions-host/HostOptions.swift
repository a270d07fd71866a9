import ControlProtocol
import HostConfiguration
import ArgumentParser
import Foundation
import HostProcess

/// The options of all commands that need a running host.
struct HostOptions: ParsableArguments {
    /// The exit code if no host is running.
    static let noHost = ExitCode(3)

    @Option(help: "The configuration file, which names the data directory.")
    var config = "functions.json"

    @Option(help: "The environment of the configuration file to apply.")
    var env: String?

    @Option(help: "The host's data directory, instead of the configured one.")
    var data: String?

    @Flag(help: "Write the result as JSON.")
    var json = false

    /// - Parameter failureCode: The exit code if the command fails, unless that is because no host is running.
    func run(
        failureCode: ExitCode = ExitCode(1), _ work: (HostControl, CommandReport) async throws -> Void
    ) async throws {
        try await withConfiguration(failureCode: failureCode) { try await work(HostControl($0.data), $1) }
    }

    /// The same for commands that also work without a host.
    func withConfiguration(
        failureCode: ExitCode = ExitCode(1), _ work: (HostConfiguration, CommandReport) async throws -> Void
    ) async throws {
        // If the reader of the output exits, writing must fail instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        let report = CommandReport(isJSON: json, isVerbose: false, resultToErrors: false)
        do {
            var configuration = try HostConfiguration.load(config, environment: env, checkingFiles: false)
            if let data { configuration.data = absolutePath(data) }
            try await work(configuration, report)
            try report.checkOutput()
        } catch let exit as ExitCode {
            throw exit
        } catch let error as ValidationError {
            throw error
        } catch let failure as OutputFailure where failure.isOfReader {
            // It has what it wants, as `head` does.
        } catch {
            report.fail(error)
            throw error is NoRunningHost ? Self.noHost : failureCode
        }
    }
}
