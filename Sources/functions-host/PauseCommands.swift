import ControlAPI
import ControlProtocol
import ArgumentParser

/// The functions that `pause` and `resume` apply to.
struct PauseTarget: ParsableArguments {
    @Flag(help: "All functions at once.")
    var all = false

    @Argument(help: "The function's name.")
    var function: String?

    func validate() throws {
        if all, function != nil { throw ValidationError("--all applies to all functions; omit the name") }
    }
}

/// `functions-host pause [FUNCTION|--all]`
struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pauses a function: it gets no invocations until it is resumed.",
        discussion: """
            Running invocations finish, deliveries are kept, and callers are refused. With neither name nor --all, lists \
            what is paused. Without a running host, the pause applies from its next start. Exit codes: 0 success, \
            1 failure, 3 there is no data directory, 64 invalid arguments.
            """)

    @OptionGroup var options: HostOptions
    @OptionGroup var part: PauseTarget

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let access = PauseAccess(configuration)
            let isQuestion = !part.all && part.function == nil
            let listing = isQuestion ? try await access.list() : try await access.pause(part.function)
            report.answer(PauseText.lines(listing), listing)
        }
    }
}

/// `functions-host resume FUNCTION|--all`
struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resumes a paused function, also one whose budget is used up.",
        discussion: """
            --all ends a pause of all functions; functions that were paused by name stay paused. Without a running host, \
            budgets stay as they are. Exit codes: 0 success, 1 failure, 3 there is no data directory, 64 invalid arguments.
            """)

    @OptionGroup var options: HostOptions
    @OptionGroup var part: PauseTarget

    func validate() throws {
        guard part.all || part.function != nil else { throw ValidationError("name a function, or use --all") }
    }

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let listing = try await PauseAccess(configuration).resume(part.function)
            report.answer(PauseText.lines(listing), listing)
        }
    }
}

enum PauseText {
    static func reason(_ reason: String) -> String {
        switch reason {
        case "everythingPaused": "paused with everything"
        case "budgetUsedUp": "budget used up"
        default: reason
        }
    }

    static func lines(_ listing: PauseListing) -> [String] {
        var lines = listing.everythingSince.map { ["everything is paused since \($0)"] } ?? []
        for pause in listing.functions where pause.reason != "everythingPaused" {
            lines.append("\(pause.function): \(reason(pause.reason))" + (pause.since.map { " since \($0)" } ?? ""))
        }
        return lines.isEmpty ? ["nothing is paused"] : lines
    }
}

/// `functions-host metrics`
struct MetricsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics", abstract: "Prints the running host's metrics in the Prometheus format.")

    @OptionGroup var options: HostOptions

    func run() async throws {
        try await options.run { host, report in
            let text = try await host.ask(ControlRequest("metrics", "text"), as: String.self)
            report.answer([String(text.dropLast())], text)
        }
    }
}
