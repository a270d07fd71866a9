import ControlAPI
import ControlProtocol
import ArgumentParser
import Foundation
import StorageEngine

/// `functions-host data check [--repair]`
struct DataCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract:
            "Checks the file, the documents, the Realtime Databases, their indexes, the change log and the deliveries. Exits with 2 if it finds problems."
    )

    @OptionGroup var options: DataOptions

    @Flag(help: "Rebuild wrong indexes, and the entries that schedule deliveries.")
    var repair = false

    func run() async throws {
        try await options.run { place, report in
            let outcome = try await place.perform(.check(repairing: repair), input: NoChunks()) { event in
                switch event {
                case .problem(let problem): report.problem(problem)
                case .progress(let done, let total): report.progress("documents", done: done, total: total)
                case .lines, .bytes: break
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
        if outcome["databaseRows"] > 0 { text += "\(outcome["databaseRows"]) rows of Realtime Databases, " }
        text += "\(outcome["changes"]) changes in the log, \(outcome["completions"]) kept answers and "
        text += "\(outcome["deliveries"]) deliveries: "
        let problems = outcome["problems"]
        text += problems == 0 ? "no problems" : "\(problems) problem\(problems == 1 ? "" : "s")"
        if let repaired = outcome.numbers["repaired"] { text += "; \(repaired) were repaired" }
        if outcome["repairable"] == 1, problems > 0, !repair {
            text += "; --repair rebuilds what can be derived"
        }
        if outcome["skippedIndexes"] == 1 { text += "; indexes that are being built weren't checked" }
        return text
    }
}

/// `functions-host data compact [--full]`
struct DataCompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Returns the space of deleted data to the file system.")

    @OptionGroup var options: DataOptions

    @Flag(help: "Rewrite all of it: with SQLite commits wait, and the same disk space is needed again.")
    var full = false

    func run() async throws {
        try await options.run { place, report in
            let outcome = try await place.perform(.compact(whole: full), input: NoChunks()) { event in
                if case .progress(let done, let total) = event {
                    report.progress("pages", done: done, total: total)
                }
            }
            let (before, after) = (CommandReport.size(outcome["before"]), CommandReport.size(outcome["after"]))
            var text = "compacted from \(before) to \(after)"
            if !full, outcome["kept"] > outcome["after"] / 10 {
                text += "; \(CommandReport.size(outcome["kept"])) are still unused; --full returns them"
            }
            report.result(text, outcome.numbers)
        }
    }
}

/// `functions-host data migrate [--engine ENGINE]`
struct DataMigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Moves the data to another storage engine and keeps the old data aside. The host must be stopped.",
        discussion: """
            The old data stays in use until the new data was compared with it, row by row; a migration that is broken off \
            changes nothing. Set store.engine to the new engine, or leave it out, before the host is started again.
            """)

    @OptionGroup var options: DataOptions

    @Option(help: "The engine, sqlite or rocksdb; else the one that store.engine names.")
    var engine: EmbeddedEngineKind?

    func run() async throws {
        try await options.run { place, report in
            let (rows, aside) = try await place.migrate(to: engine) { progress in
                report.progress("rows", done: progress.done, total: progress.total)
            }
            report.result(
                "moved \(rows) rows; the previous data is now \(aside)", ["rows": rows, "before": aside])
        }
    }
}

extension EmbeddedEngineKind: ExpressibleByArgument {}

/// `functions-host data clear --yes`
struct DataClearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "clear", abstract: "Deletes all documents.")

    @OptionGroup var options: DataOptions

    @Flag(help: "Confirm that all documents are deleted.")
    var yes = false

    func validate() throws {
        guard yes else { throw ValidationError("this deletes all documents; confirm with --yes") }
    }

    func run() async throws {
        try await options.run { place, report in
            let outcome = try await place.perform(.clear, input: NoChunks()) { event in
                if case .progress(let done, let total) = event {
                    report.progress("documents", done: done, total: total)
                }
            }
            let count = outcome["documents"]
            report.result("deleted \(count) documents", ["documents": count])
        }
    }
}
