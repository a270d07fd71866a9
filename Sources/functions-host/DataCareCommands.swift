import ControlAPI
import ControlProtocol
import ArgumentParser
import Foundation

/// `functions-host data check [--repair]`
struct DataCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract:
            "Looks through the file, the documents, their indexes, the log and deliveries. Exits with 2 where it finds problems."
    )

    @OptionGroup var options: DataOptions

    @Flag(help: "Make the indexes, and what says when deliveries are due, anew where they are wrong.")
    var repair = false

    func run() async throws {
        try await options.run { place, report in
            let outcome = try await place.perform(.check(repairing: repair), input: NoPieces()) { event in
                switch event {
                case .problem(let problem): report.problem(problem)
                case .progress(let done, let total): report.progress("documents", done: done, total: total)
                case .lines: break
                }
            }
            var members: [String: any Encodable & Sendable] = outcome.numbers.mapValues { $0 }
            members["found"] = report.problems
            report.result(sentence(outcome), members)
            if outcome["problems"] > 0 { throw ExitCode(2) }
        }
    }

    private func sentence(_ outcome: DataOutcome) -> String {
        var text = "checked \(outcome["documents"]) documents, \(outcome["entries"]) index entries, "
        text += "\(outcome["changes"]) changes in the log, \(outcome["completions"]) kept answers and "
        text += "\(outcome["deliveries"]) deliveries: "
        let problems = outcome["problems"]
        text += problems == 0 ? "all is well" : "\(problems) problem\(problems == 1 ? "" : "s")"
        if let repaired = outcome.numbers["repaired"] { text += "; \(repaired) went away with the repair" }
        if outcome["repairable"] == 1, problems > 0, !repair {
            text += "; --repair puts right what follows from the rest"
        }
        if outcome["skippedIndexes"] == 1 { text += "; indexes are being built and were not looked at" }
        return text
    }
}

/// `functions-host data compact [--full]`
struct DataCompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Gives the room of what was deleted back to the disk.")

    @OptionGroup var options: DataOptions

    @Flag(help: "Write the whole file anew: commits wait, and the disk needs as much room again.")
    var full = false

    func run() async throws {
        try await options.run { place, report in
            let outcome = try await place.perform(.compact(whole: full), input: NoPieces()) { event in
                if case .progress(let done, let total) = event {
                    report.progress("pages", done: done, total: total)
                }
            }
            let (before, after) = (DataReport.size(outcome["before"]), DataReport.size(outcome["after"]))
            var text = "compacted from \(before) to \(after)"
            if !full, outcome["kept"] > outcome["after"] / 10 {
                text += "; \(DataReport.size(outcome["kept"])) are still unused, which --full gives back"
            }
            report.result(text, outcome.numbers)
        }
    }
}

/// `functions-host data clear --yes`
struct DataClearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "clear", abstract: "Deletes all documents.")

    @OptionGroup var options: DataOptions

    @Flag(help: "Yes, all of them.")
    var yes = false

    func validate() throws {
        guard yes else { throw ValidationError("this deletes all documents; say --yes if that is what you want") }
    }

    func run() async throws {
        try await options.run { place, report in
            let outcome = try await place.perform(.clear, input: NoPieces()) { event in
                if case .progress(let done, let total) = event {
                    report.progress("documents", done: done, total: total)
                }
            }
            let count = outcome["documents"]
            report.result("deleted \(count) documents", ["documents": count])
        }
    }
}
