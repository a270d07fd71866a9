import ArgumentParser
import ControlProtocol
import Foundation

/// `functions-host list`
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the served functions: release, processes, calls, errors and latency.",
        discussion: """
            The command needs a host that runs on the data directory. "last minute" is the number of calls in it; "calls", \
            "errors" and the latency are those since the host's start. Exit codes: 0 success, 1 failure, 3 no host is \
            running, 64 invalid arguments.
            """)

    @OptionGroup var options: HostOptions

    func run() async throws {
        try await options.run { host, report in
            let listing = try await host.ask(ControlRequest("functions", "list"), as: FunctionListing.self)
            report.answer(Self.lines(listing.functions), listing)
        }
    }

    private static func lines(_ functions: [FunctionReport]) -> [String] {
        guard !functions.isEmpty else { return ["no function is served"] }
        let head = ["FUNCTION", "RELEASE", "PROCESSES", "LAST MINUTE", "CALLS", "ERRORS", "MEDIAN", "95 %", "TRIGGER"]
        let rows = functions.map { function in
            [
                function.name, "\(function.bundle)/\(function.release)", "\(function.workers)",
                "\(function.callsLastMinute)", "\(function.calls)", "\(function.failures)",
                time(function.medianSeconds), time(function.p95Seconds),
                function.trigger + (function.paused.map { "  (paused: \($0))" } ?? ""),
            ]
        }
        let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
        return ([head] + rows).map { row in
            zip(row, widths).map { text, width in text + String(repeating: " ", count: width - text.count) }
                .joined(separator: "  ").trimmingCharacters(in: .whitespaces)
        }
    }

    /// The end of a histogram's bucket.
    private static func time(_ seconds: Double?) -> String {
        guard let seconds else { return "-" }
        let (value, unit) = seconds < 1 ? (seconds * 1000, "ms") : (seconds, "s")
        return "≤ \(value == value.rounded() ? "\(Int(value))" : "\(value)") \(unit)"
    }
}

/// `functions-host call NAME [DATA]`
struct CallCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "call", abstract: "Calls a callable function of the running host, as any user.",
        discussion: """
            The result is written to the standard output as JSON, an error to the standard error, or with --json as an \
            object to the standard output. Exit codes: 0 success, 1 the call failed, 3 no host is running, 64 invalid \
            arguments.
            """)

    @OptionGroup var options: HostOptions

    @Option(name: .customLong("as"), help: "The id of the user who calls. Without it, the call is unauthenticated.")
    var uid: String?

    @Option(help: "Further claims of the user's token, as a JSON object.")
    var claims: String?

    @Flag(help: "Print the chunks of a streaming function, each on a line.")
    var stream = false

    @Argument(help: "The function's name.")
    var name: String

    @Argument(help: "The data as JSON.")
    var data = "null"

    func validate() throws {
        guard claims == nil || uid != nil else { throw ValidationError("--claims needs --as: they are the user's") }
    }

    func run() async throws {
        try await options.run { host, report in
            var request = ControlRequest("functions", "call")
            request.add("name", name)
            request.add("uid", uid)
            request.add("claims", claims)
            if stream { request.add("stream", "true") }
            var isOver = false
            try await host.exchange(request, body: Array(data.utf8), as: CallLine.self) { line in
                if let chunk = line.chunk ?? line.result { try report.line(chunk) }
                isOver = isOver || line.chunk == nil
                if let status = line.status {
                    report.fail(status, line.message ?? "", details: line.details)
                    throw ExitCode(1)
                }
            }
            guard isOver else { throw ControlClient.connectionLost }
        }
    }
}
