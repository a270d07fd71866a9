import ControlAPI
import ControlProtocol
import ArgumentParser
import DocumentModel
import FirestoreClient

/// `functions-host data import [FILE|-]`, or `--from HOST:PORT`
struct DataImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract:
            "Imports exported documents and users, the documents of a running emulator, or a Realtime Database's data.",
        discussion: "Documents with the same paths, and users with the same uids, are replaced.\n\n"
            + DatabaseOptions.importDiscussion)

    @OptionGroup var options: DataOptions

    @OptionGroup(title: "Realtime Database") var databases: DatabaseOptions

    @Flag(help: "With --database: add to what exists, in many commits, instead of replacing it in one.")
    var inSteps = false

    @Flag(help: "With --database: the changes trigger no functions.")
    var disableTriggers = false

    @Flag(help: "Delete all documents first.")
    var clear = false

    @Option(
        name: .customLong("from"),
        help: "The address of a Firestore emulator, or of a host in development, to copy from: HOST:PORT.")
    var source: String?

    @Option(help: "The project to copy, with --from; by default the configured one.")
    var project: String?

    @Argument(help: "The export; - for standard input.")
    var file: String?

    func validate() throws {
        try databases.validateUse()
        guard databases.database == nil else {
            guard !clear, source == nil, project == nil else {
                throw ValidationError("--clear, --from and --project are for documents, and don't go with --database")
            }
            return
        }
        guard !inSteps, !disableTriggers else {
            throw ValidationError("--in-steps and --disable-triggers need --database")
        }
        guard let source else {
            guard project == nil else { throw ValidationError("--project needs --from; a file names its own project") }
            return
        }
        guard file == nil else { throw ValidationError("import either from a file or --from an emulator") }
        guard HostAndPort.isValid(source) else {
            throw ValidationError("--from \"\(source)\" is not a host and port such as 127.0.0.1:8080")
        }
        if let project, !ProjectID.isValid(project) {
            throw ValidationError("--project \"\(project)\" is not a project ID; \(ProjectID.description)")
        }
    }

    func run() async throws {
        try await options.run { place, report in
            if let database = try databases.place(for: file ?? "-") {
                return try await run(database, place, report)
            }
            guard let source else {
                return try await run(place, report, try FileChunks(file ?? "-"))
            }
            let project = project ?? place.project
            let export = try await RemoteExport(
                from: source, project: project, documents: RemoteDocuments(at: source, project: project))
            let origin = " from \(source)" + (project == place.project ? "" : ", project \(project)")
            // Nothing is deleted before the whole copy is there: the source may end, or be this host itself.
            guard clear else { return try await run(place, report, export, origin) }
            let file = try await export.spooled { report.progress("copied", done: $0, total: nil, inBytes: true) }
            try await run(place, report, file, origin)
        }
    }

    private func run(
        _ place: DataAccess, _ report: CommandReport, _ input: some AsyncSequence<[UInt8], any Error> & Sendable,
        _ origin: String = ""
    ) async throws {
        let outcome = try await place.perform(.importDocuments(clearing: clear), input: input) { event in
            if case .progress(let done, let total) = event { report.progress("documents", done: done, total: total) }
        }
        report.result("imported \(outcome.content)\(origin)", outcome.numbers)
    }

    private func run(_ database: DatabasePlace, _ place: DataAccess, _ report: CommandReport) async throws {
        let request = DataRequest.importDatabase(
            database, DatabaseImportOptions(inSteps: inSteps, firesEvents: !disableTriggers))
        let outcome = try await place.perform(request, input: try FileChunks(file ?? "-")) { event in
            guard case .progress(let done, let total) = event else { return }
            report.progress(total == nil ? "received" : "imported", done: done, total: total, inBytes: true)
        }
        report.result("imported \(outcome.databaseContent) into \(database)", outcome.numbers)
    }
}

extension DataOutcome {
    /// The documents and users of an export or import, such as `12 documents and 3 users`.
    var content: String {
        let (documents, users) = (self["documents"], self["users"])
        return "\(documents) documents" + (users > 0 ? " and \(users) user\(users == 1 ? "" : "s")" : "")
    }

    /// What an export leaves out; empty if that is nothing.
    var omission: String {
        self["unreadable"] == 0 ? "" : "; left out because the store is damaged: \(self["unreadable"])"
    }
}
