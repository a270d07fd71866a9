import ControlAPI
import ControlProtocol
import ArgumentParser

/// `functions-host deliveries …`: pending deliveries and dead letters.
struct DeliveriesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries", abstract: "Shows, retries or drops deliveries.",
        discussion: """
            list, show and stats read the store themselves if no host is running. Exit codes: 0 success, 1 failure, 2 drop \
            needs --yes, 3 no host is running, 64 invalid arguments.
            """,
        subcommands: [
            DeliveriesListCommand.self, DeliveriesShowCommand.self, DeliveriesRetryCommand.self,
            DeliveriesDropCommand.self, DeliveriesStatsCommand.self,
        ])
}

/// A filter that selects deliveries.
struct DeliverySelection: ParsableArguments {
    @Option(help: "Deliveries to this function.")
    var function: String?

    @Option(help: "Deliveries in this state: pending, waiting, running or dead; repeatable.")
    var state: [DeliveryFilter.State] = []

    @Option(help: "Deliveries of events older than this: 30s, 5m, 1h or 2d.")
    var olderThan: Age?

    var filter: DeliveryFilter {
        DeliveryFilter(
            function: function, states: state.isEmpty ? nil : Set(state), olderThan: olderThan?.seconds)
    }

    var isEmpty: Bool { function == nil && state.isEmpty && olderThan == nil }
}

extension DeliveryFilter.State: ExpressibleByArgument {}

/// A duration in the past: a number with s, m, h or d.
struct Age: ExpressibleByArgument {
    let seconds: Int

    init?(argument: String) {
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let unit = argument.last.flatMap({ units[$0] }), let number = Int(argument.dropLast()),
            (0...Int(Int32.max) / unit).contains(number)
        else { return nil }
        seconds = number * unit
    }

    /// `3d`, `5h`, `12m` or `40s`.
    static func text(_ seconds: Int) -> String {
        for (unit, length) in [("d", 86_400), ("h", 3600), ("m", 60)] where seconds >= 2 * length {
            return "\(seconds / length)\(unit)"
        }
        return "\(seconds)s"
    }
}

/// `functions-host deliveries list`
struct DeliveriesListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists deliveries by function and age, dead letters last.")

    @OptionGroup var options: HostOptions
    @OptionGroup var selection: DeliverySelection

    @Option(help: "The maximum number of deliveries.")
    var limit = 100

    func validate() throws {
        guard (1...100_000).contains(limit) else {
            throw ValidationError("the limit is \(limit); it must be 1 to 100000")
        }
    }

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let place = DeliveryAccess(configuration)
            var listing = DeliveryListing()
            repeat {
                let page = try await place.list(
                    selection.filter, after: listing.next, limit: min(1000, limit - listing.deliveries.count))
                listing.deliveries += page.deliveries
                listing.next = page.next
            } while listing.next != nil && listing.deliveries.count < limit
            report.answer(Self.lines(listing), listing)
        }
    }

    private static func lines(_ listing: DeliveryListing) -> [String] {
        guard !listing.deliveries.isEmpty else { return ["there are no deliveries"] }
        var lines = Table.lines(
            [["FUNCTION", "EVENT", "STATE", "AGE", "TRIES", ""]]
                + listing.deliveries.map { delivery in
                    var rest = delivery.state == "pending" ? delivery.due.map { "due \($0)" } ?? "" : ""
                    if let name = delivery.taskName { rest += (rest.isEmpty ? "" : "  ") + "task \(name)" }
                    if let error = delivery.lastError { rest += (rest.isEmpty ? "" : "  ") + error }
                    return [
                        delivery.function, delivery.event, delivery.state, Age.text(delivery.age), "\(delivery.tries)",
                        rest,
                    ]
                })
        if listing.next != nil { lines.append("there may be more; --limit shows them") }
        return lines
    }
}

/// `functions-host deliveries show FUNCTION EVENT`
struct DeliveriesShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows a delivery with its event.")

    @OptionGroup var options: HostOptions

    @Argument(help: "The function's name.")
    var function: String

    @Argument(help: "The event's id.")
    var event: String

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let details = try await DeliveryAccess(configuration).show(function: function, event: event)
            report.answer(DeliveryLines.lines(details), details)
        }
    }
}

/// `functions-host deliveries stats`
struct DeliveriesStatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Shows delivery statistics for each function.")

    @OptionGroup var options: HostOptions

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let statistics = try await DeliveryAccess(configuration).statistics()
            report.answer(Self.lines(statistics), statistics)
        }
    }

    private static func lines(_ statistics: DeliveryStatistics) -> [String] {
        guard !statistics.functions.isEmpty else { return ["there are no deliveries"] }
        func text(_ number: Int?) -> String { number.map { "\($0)" } ?? "-" }
        func milliseconds(_ seconds: Double?) -> String {
            seconds.map { "≤ \(($0 * 100_000).rounded() / 100) ms" } ?? "-"
        }
        let head = [
            "FUNCTION", "PENDING", "OLDEST", "RUNNING", "DEAD", "TRIES", "FAILED", "DROPPED", "P50", "P99", "",
        ]
        return Table.lines(
            [head]
                + statistics.functions.map { function -> [String] in
                    let isCounted = function.damage == nil
                    let note =
                        function.damage.map { "can't be counted: \($0)" }
                        ?? function.paused.map { PauseText.reason($0) }
                        ?? (function.isServed == false ? "not served" : "")
                    return [
                        function.name, text(isCounted ? function.pending : nil),
                        function.oldestAge.map { Age.text($0) } ?? "-", text(function.inFlight),
                        text(isCounted ? function.dead : nil), text(function.tries), text(function.failures),
                        text(function.dropped), milliseconds(function.latencyP50),
                        milliseconds(function.latencyP99), note,
                    ]
                })
    }
}
