import DataDirectory
import HostConfiguration
import ArgumentParser
import DocumentModel
import Foundation
import HostProcess
import Logging

/// `functions-host logs [FUNCTION]`
struct LogsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs", abstract: "Shows the log that the host keeps in its data directory.",
        discussion: """
            The log has a line for each call, and what functions and the host log. It is read from the data directory, so no \
            host needs to be running. How much of it is kept is set by "logs" in functions.json.
            """)

    @OptionGroup var options: HostOptions

    @Flag(name: .shortAndLong, help: "Go on with new lines until interrupted.")
    var follow = false

    @Option(help: "Only lines of this execution.")
    var execution: String?

    @Option(
        help: "Only lines of this session of a Realtime Database's client. The host logs them with `serve --verbose`.")
    var session: String?

    @Option(help: "Only lines of the last 10m, 2h, 3d.")
    var since: Age?

    @Option(help: "Only lines of this level or above.")
    var severity = Severity.trace

    @Option(
        name: [.customShort("n"), .long],
        help: "Only the last lines. Default: 100, or all with --since, --execution or --session."
    )
    var lines: Int?

    @Argument(help: "Only lines of this function.")
    var function: String?

    /// How often the files are looked at for new lines.
    private static let interval: Duration = .milliseconds(200)

    func validate() throws {
        if session?.isEmpty == true { throw ValidationError("the session's id is empty") }
        if let lines, lines < 1 { throw ValidationError("the number of lines is \(lines); it must be at least 1") }
    }

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            var filter = LogFilter()
            filter.function = function
            filter.execution = execution
            filter.session = session
            filter.level = severity.level
            filter.since = since.map { Timestamp.wallClock().after(seconds: -Double($0.seconds)) }
            let directory = LogFiles.directory(in: configuration.data)
            // Otherwise the log would seem to be empty.
            for place in [configuration.data, directory] { try DataDirectory.checkAccess(place) }
            guard follow || FileManager.default.fileExists(atPath: directory) else {
                throw HostError("there is no log in \(directory): no host has run on this data directory")
            }
            var reader = LogReader(directory, filter)
            let limit = lines ?? (since == nil && execution == nil && session == nil ? 100 : .max)
            func write(_ record: LogRecord) throws { try report.line(options.json ? record.json : record.text) }
            if limit == .max {
                try reader.read { try write($0) }
            } else {
                var last: [LogRecord] = []
                try reader.read { record in
                    last.append(record)
                    if last.count / 2 >= limit { last.removeFirst(last.count - limit) }
                }
                for record in last.suffix(limit) { try write(record) }
            }
            while follow, !report.hasLostReader {
                try await Task.sleep(for: Self.interval)
                try reader.read { try write($0) }
            }
        }
    }
}

/// swift-log's levels, as an argument.
enum Severity: String, CaseIterable, ExpressibleByArgument {
    case trace, debug, info, notice, warning, error, critical

    var level: Logger.Level { Logger.Level(rawValue: rawValue) ?? .trace }
}
