import ControlAPI
import ControlProtocol
import StorageEngine
import ArgumentParser
import DocumentModel
import DocumentStore
import Foundation

/// `functions-host data backup FILE`
struct DataBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract:
            "Copies a snapshot of the data while the host keeps serving: to a file, or a directory if the engine is rocksdb."
    )

    @OptionGroup var options: DataOptions

    @Flag(help: "Replace what exists.")
    var replace = false

    @Argument(help: "The file or directory to create.")
    var file: String

    func run() async throws {
        let path = absolutePath(file)
        try await options.run { place, report in
            let outcome = try await place.perform(.backUp(file: path, replacing: replace), input: NoChunks()) { event in
                if case .progress(let done, let total) = event {
                    report.progress("copied", done: done, total: total, inBytes: true)
                }
            }
            let bytes = outcome["bytes"]
            report.result("backed up \(CommandReport.size(bytes)) to \(path)", ["file": path, "bytes": bytes])
        }
    }
}

/// `functions-host data restore FILE`
struct DataRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Replaces the data with a backup and keeps the old data aside. The host must be stopped.")

    @OptionGroup var options: DataOptions

    @Argument(help: "The backup.")
    var file: String

    func run() async throws {
        let path = absolutePath(file)
        try await options.run { place, report in
            let aside = try await place.restore(path) { progress in
                report.progress("copied", done: progress.done, total: progress.total, inBytes: true)
            }
            var sentence = "restored \(path)"
            var members: [String: any Encodable & Sendable] = ["file": path]
            if let aside {
                sentence += "; the previous data is now \(aside)"
                members["before"] = aside
            }
            report.result(sentence, members)
        }
    }
}

/// `functions-host data export [FILE|-]`
struct DataExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes a snapshot of the documents and users as lines of JSON, or one of a Realtime Database.",
        discussion: DatabaseOptions.exportDiscussion)

    @OptionGroup var options: DataOptions

    @OptionGroup(title: "Realtime Database") var databases: DatabaseOptions

    @Option(
        name: .customLong("collection"),
        help: "A collection to export, with everything below its documents and without users; repeatable.")
    var collections: [String] = []

    @Flag(help: "Replace an existing file.")
    var replace = false

    @Argument(help: "The file to create; - for standard output.")
    var file = "-"

    func validate() throws {
        try databases.validateUse()
        guard databases.database == nil || collections.isEmpty else {
            throw ValidationError("a database has no collections; choose a part of it with --path")
        }
    }

    func run() async throws {
        try await options.run(resultToErrors: file == "-") { place, report in
            if let database = try databases.place(for: file) {
                return try await export(database, place, report)
            }
            let paths = try collections.map { try CollectionPath($0) }
            let output = try ExportOutput(file, replacing: replace, beside: place)
            let outcome: DataOutcome
            do {
                var lines = 0
                outcome = try await place.perform(
                    .export(paths.isEmpty ? .everything : .collections(paths)), input: NoChunks()
                ) { event in
                    if case .problem(let problem) = event { report.problem(problem) }
                    guard case .lines(let bytes) = event else { return }
                    try output.write(bytes)
                    lines += bytes.count { $0 == UInt8(ascii: "\n") }
                    report.progress("lines", done: lines, total: nil)
                }
                try output.finish()
            } catch {
                output.discard()
                throw error
            }
            var members: [String: any Encodable & Sendable] = outcome.numbers.mapValues { $0 }
            if !report.problems.isEmpty { members["found"] = report.problems }
            report.result("exported \(outcome.content)\(outcome.omission)", members)
            if outcome["unreadable"] > 0 { throw ExitCode(2) }
        }
    }

    private func export(_ database: DatabasePlace, _ place: DataAccess, _ report: CommandReport) async throws {
        let output = try ExportOutput(file, replacing: replace, beside: place)
        do {
            var bytes = 0
            let outcome = try await place.perform(.exportDatabase(database), input: NoChunks()) { event in
                guard case .bytes(let piece) = event else { return }
                try output.write(piece)
                bytes += piece.count
                report.progress("exported", done: bytes, total: nil, inBytes: true)
            }
            try output.finish()
            report.result("exported \(outcome.databaseContent) from \(database)", outcome.numbers)
        } catch {
            output.discard()
            throw error
        }
    }
}
