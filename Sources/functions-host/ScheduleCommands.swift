import ControlProtocol
import ArgumentParser

/// `functions-host schedules …`: the scheduled jobs of the running host.
struct SchedulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedules", abstract: "Shows when scheduled jobs run, or runs one now.",
        discussion: """
            The commands need a host that runs on the data directory. Exit codes: 0 success, 1 failure, 2 the awaited run \
            failed, 3 no host is running, 64 invalid arguments.
            """,
        subcommands: [SchedulesListCommand.self, SchedulesRunCommand.self])
}

/// `functions-host schedules list [--count N]`
struct SchedulesListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists each job's next runs, its last run, and a run in progress.")

    @OptionGroup var options: HostOptions

    @Option(help: "The number of next runs.")
    var count = 3

    func validate() throws {
        guard (0...1000).contains(count) else { throw ValidationError("the count is \(count); it must be 0 to 1000") }
    }

    func run() async throws {
        try await options.run { host, report in
            var request = ControlRequest("schedules", "list")
            request.add("count", "\(count)")
            let listing = try await host.ask(request, as: ScheduleListing.self)
            let lines = listing.schedules.flatMap(Self.lines)
            report.answer(lines.isEmpty ? ["no function has a schedule"] : lines, listing)
        }
    }

    private static func lines(_ schedule: ScheduleReport) -> [String] {
        var lines = ["\(schedule.name)  \(schedule.schedule)  \(schedule.timeZone)"]
        if schedule.isPaused { lines[0] += "  (paused)" }
        if !schedule.next.isEmpty { lines.append("  next  " + schedule.next.joined(separator: "  ")) }
        if let since = schedule.heldSince {
            let cause = schedule.problem ?? (schedule.isPaused ? "it is paused" : "the previous run is in progress")
            lines.append("  due   since \(since): \(cause)")
        }
        if let open = schedule.openRun {
            var line = "  open  \(open.id), made \(open.made)"
            if open.tries > 0 { line += ", failed \(open.tries) times" }
            if open.tries > 0, let due = open.due { line += ", next attempt \(due)" }
            lines.append(line)
            if let error = open.lastError { lines.append("        \(Table.printable(error))") }
        }
        if let last = schedule.lastRun {
            var line = "  last  \(last.due)" + (last.isManual ? ", manual" : "")
            if let outcome = last.outcome { line += ", \(outcome)" }
            if let ended = last.ended { line += " at \(ended)" }
            lines.append(line)
        }
        return lines
    }
}

/// `functions-host schedules run NAME [--wait]`
struct SchedulesRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Runs a job now, in addition to its schedule.")

    /// The exit code if the awaited run failed.
    private static let runFailed = ExitCode(2)

    @OptionGroup var options: HostOptions

    @Flag(help: "Wait until the run has ended, including retries.")
    var wait = false

    @Argument(help: "The function's name.")
    var name: String

    func run() async throws {
        try await options.run { host, report in
            var request = ControlRequest("schedules", "run")
            request.add("name", name)
            request.add("wait", "\(wait)")
            let run = try await host.ask(request, as: ManualRunReport.self)
            var line = "\(run.name) runs: delivery \(run.id)"
            if let outcome = run.outcome { line = "the run of \(run.name) \(Self.words(outcome)): delivery \(run.id)" }
            report.answer([line] + (run.error.map { ["  \(Table.printable($0))"] } ?? []), run)
            if let outcome = run.outcome, outcome != "succeeded" { throw Self.runFailed }
        }
    }

    private static func words(_ outcome: String) -> String {
        outcome == "dead" ? "failed permanently and was dead-lettered" : outcome
    }
}
