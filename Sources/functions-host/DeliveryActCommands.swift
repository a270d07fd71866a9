import ControlAPI
import ControlProtocol
import ArgumentParser

/// Which deliveries a command changes: one, or those of a filter.
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
            throw ValidationError("name FUNCTION EVENT, or choose with --function, --state, --older-than or --all")
        case (0, false, true): throw ValidationError("--all excludes what chooses: --function, --state, --older-than")
        case (2, _, _): throw ValidationError("FUNCTION EVENT names one delivery; leave the options out")
        default: throw ValidationError("one delivery is named by two words, FUNCTION EVENT")
        }
    }

    /// Does something to all of them, a bounded number at a time.
    func perform(
        _ act: DeliveryPlace.Act, in place: DeliveryPlace, _ told: (Int) -> Void = { _ in }
    ) async throws -> Int {
        if one.count == 2 { return try await place.perform(act, function: one[0], event: one[1]).count }
        var change = DeliveryChange()
        repeat {
            let page = try await place.perform(act, selection.filter, after: change.next)
            change = DeliveryChange(count: change.count + page.count, next: page.next)
            told(change.count)
        } while change.next != nil
        return change.count
    }

    static func words(_ count: Int) -> String { count == 1 ? "1 delivery" : "\(count) deliveries" }
}

/// `functions-host deliveries retry`
struct DeliveriesRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Has functions told again, now, of what has failed.",
        discussion: """
            Dead letters, and what waits for its next try, begin anew as if they had never been tried. What has not been \
            tried yet keeps its time, but for one that is named.
            """)

    @OptionGroup var options: HostOptions
    @OptionGroup var deliveries: ChangedDeliveries

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let count = try await deliveries.perform(.retry, in: DeliveryPlace(configuration)) {
                report.progress("retried", done: $0, total: nil)
            }
            report.result("\(ChangedDeliveries.words(count)) will be told again", ["retried": count])
        }
    }
}

/// `functions-host deliveries drop`
struct DeliveriesDropCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Forgets deliveries: their functions are never told of them.")

    /// How the command ends where it would drop more than one and isn't told to.
    private static let needsYes = ExitCode(2)

    @OptionGroup var options: HostOptions
    @OptionGroup var deliveries: ChangedDeliveries

    @Flag(help: "Yes, all of those.")
    var yes = false

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let place = DeliveryPlace(configuration)
            if !yes, deliveries.one.isEmpty {
                let count = try await deliveries.perform(.count, in: place)
                guard count <= 1 else {
                    report.result(
                        "this drops \(count) deliveries for good; say --yes if that is what you want",
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
