import ControlAPI
import ControlProtocol
import ArgumentParser

/// The deliveries that a command changes: one, or those that match a filter.
struct ChangedDeliveries: ParsableArguments {
    @OptionGroup var selection: DeliverySelection

    @Flag(help: "All of them.")
    var all = false

    @Argument(help: "FUNCTION EVENT, for one delivery.")
    var one: [String] = []

    func validate() throws {
        switch (one.count, selection.isEmpty, all) {
        case (2, true, false), (0, false, false), (0, true, true): return
        case (0, true, false):
            throw ValidationError("give FUNCTION EVENT, or select with --function, --state, --older-than or --all")
        case (0, false, true): throw ValidationError("--all can't be combined with --function, --state or --older-than")
        case (2, _, _): throw ValidationError("FUNCTION EVENT selects one delivery; omit the options")
        default: throw ValidationError("give two arguments for one delivery, FUNCTION EVENT")
        }
    }

    /// Changes all matching deliveries, in batches.
    func perform(
        _ act: DeliveryService.Action, in place: DeliveryAccess, _ report: (Int) -> Void = { _ in }
    ) async throws -> Int {
        if one.count == 2 { return try await place.perform(act, function: one[0], event: one[1]).count }
        var change = DeliveryChange()
        repeat {
            let page = try await place.perform(act, selection.filter, after: change.next)
            change = DeliveryChange(count: change.count + page.count, next: page.next)
            report(change.count)
        } while change.next != nil
        return change.count
    }

    static func words(_ count: Int) -> String { count == 1 ? "1 delivery" : "\(count) deliveries" }
}

/// `functions-host deliveries retry`
struct DeliveriesRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Makes failed deliveries due now.",
        discussion: """
            Dead letters, and deliveries that wait for their next attempt, start again with their first attempt. A delivery \
            that hasn't been attempted keeps its due time, unless it is named.
            """)

    @OptionGroup var options: HostOptions
    @OptionGroup var deliveries: ChangedDeliveries

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let count = try await deliveries.perform(.retry, in: DeliveryAccess(configuration)) {
                report.progress("retried", done: $0, total: nil)
            }
            report.result("\(ChangedDeliveries.words(count)) will be retried", ["retried": count])
        }
    }
}

/// `functions-host deliveries drop`
struct DeliveriesDropCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Deletes deliveries permanently.")

    /// The exit code if the command would drop more than one delivery and `--yes` is missing.
    private static let needsYes = ExitCode(2)

    @OptionGroup var options: HostOptions
    @OptionGroup var deliveries: ChangedDeliveries

    @Flag(help: "Drop more than one delivery.")
    var yes = false

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let place = DeliveryAccess(configuration)
            if !yes, deliveries.one.isEmpty {
                let count = try await deliveries.perform(.count, in: place)
                guard count <= 1 else {
                    report.result(
                        "this drops \(count) deliveries permanently; confirm with --yes",
                        ["dropped": 0, "wouldDrop": count])
                    throw Self.needsYes
                }
            }
            let count = try await deliveries.perform(.drop, in: place) {
                report.progress("dropped", done: $0, total: nil)
            }
            report.result("dropped \(ChangedDeliveries.words(count))", ["dropped": count])
        }
    }
}
