import ArgumentParser
import HostProcess

@main
struct FunctionsHostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "functions-host",
        abstract: "Serves Swift cloud functions to Firebase clients.",
        subcommands: [
            ServeCommand.self, ListCommand.self, CallCommand.self, LogsCommand.self, DataCommand.self,
            SchedulesCommand.self, DeliveriesCommand.self, PauseCommand.self,
            ResumeCommand.self, MetricsCommand.self, DeployCommand.self, ReleasesCommand.self, RollbackCommand.self,
            UndeployCommand.self, PromoteCommand.self, InitCommand.self, RulesCommand.self, KeysCommand.self,
            UsersCommand.self,
        ],
        defaultSubcommand: ServeCommand.self)

    static func main() async {
        ProcessLimits.openStandardFiles()
        // Also into a pipe, for `logs --follow` and `call --stream`.
        ProcessLimits.writeOutputByLine()
        await main(nil)
    }
}
