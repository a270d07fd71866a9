import ArgumentParser
import ControlAPI
import ControlProtocol
import DocumentModel
import HostConfiguration
import IdentityProvider
import StrictJSON

/// `functions-host users export FILE [--format json|csv|emulator]`
struct UsersExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes all users to a file, with their passwords' hashes, as \"firebase auth:export\" does.",
        discussion: """
            Works without a running host too. The file is for its owner only: it has what is needed to test passwords. \
            Exit codes: 0 success, 1 failure, 2 users who can't be read are left out, 64 invalid arguments.
            """)

    @OptionGroup var options: DataOptions

    @Option(help: "json, csv, or emulator for a directory of the Firebase emulators. (default: by the file's name)")
    var format: String?

    @Flag(
        help: """
            Also write what "firebase auth:import" refuses: passwords that other systems hashed, accounts at any provider, \
            authenticator apps, and times. Only "users import" reads such a file.
            """)
    var allFields = false

    @Flag(help: "Replace an existing file, or an existing export of users in a directory.")
    var replace = false

    @Argument(help: "The file to create, or the directory with --format emulator; - for standard output.")
    var file: String

    func validate() throws {
        let format = try chosenFormat()
        if allFields, format != .json { throw ValidationError("--all-fields needs the format json") }
        if format == .emulator, file == "-" {
            throw ValidationError("an emulator's export is a directory, not one file")
        }
    }

    private func chosenFormat() throws -> UserFile.Format {
        if let format {
            guard let chosen = UserFile.Format(rawValue: format.lowercased()) else {
                throw ValidationError("--format \(format): write json, csv or emulator")
            }
            return chosen
        }
        guard let chosen = UserFile.Format(extensionOf: file) else {
            throw ValidationError("name a file that ends with .json or .csv, or write --format")
        }
        return chosen
    }

    func run() async throws {
        let format = try chosenFormat()
        try await options.run(resultToErrors: file == "-") { place, report in
            let configuration = try HostConfiguration.load(
                options.config, environment: options.env, checkingFiles: false)
            let scheme = UserFormat.scheme(cost: configuration.auth.passwords.hashMiB << 10)
            var users = UserFile(format, isWhole: allFields, scheme: scheme)
            var outcome = DataOutcome()
            var undeleted: String?
            if format == .emulator {
                let path = absolutePath(file)
                try place.checkIsForOutput(path, isDirectory: true)
                undeleted = try await EmulatorExport.write(
                    to: path, replacing: replace, settings: try await settings(of: place)
                ) { accounts in
                    outcome = try await write(&users, to: accounts, place, report)
                }
            } else {
                outcome = try await write(&users, to: file, place, report)
            }
            var members = numbers(users)
            if outcome["unreadable"] > 0 {
                members["unreadable"] = outcome["unreadable"]
                members["found"] = report.problems
            }
            var rest = outcome.omission
            if let undeleted {
                members["undeleted"] = undeleted
                rest += "; the export that was replaced can't be deleted: \(undeleted)"
            }
            report.result(sentence(users, scheme, format) + rest, members)
            if outcome["unreadable"] > 0 { throw ExitCode(2) }
        }
    }

    private func write(
        _ users: inout UserFile, to file: String, _ place: DataAccess, _ report: CommandReport
    ) async throws -> DataOutcome {
        let output = try ExportOutput(file, replacing: replace, beside: place)
        do {
            try output.write(try users.beginning())
            var lines = LineBuffer()
            let outcome = try await place.perform(.export(.users), input: NoChunks()) { event in
                if case .problem(let problem) = event { report.problem(problem) }
                guard case .lines(let bytes) = event else { return }
                lines.append(bytes)
                while let line = try lines.next() {
                    if let text = try users.text(of: line) { try output.write(text) }
                }
                report.progress("users", done: users.count, total: nil)
            }
            try output.write(users.end)
            try output.finish()
            return outcome
        } catch {
            output.discard()
            throw error
        }
    }

    /// The settings of the running host; nil if there is none, which an emulator accepts.
    private func settings(of place: DataAccess) async throws -> JSONObject? {
        do {
            return try await HostControl(place.directory).users("settings", [:]).objectValue
        } catch is NoRunningHost {
            return nil
        } catch let error as DocumentError where error.code == .failedPrecondition {
            return nil
        }
    }

    private func sentence(_ users: UserFile, _ scheme: JSONObject, _ format: UserFile.Format) -> String {
        var text = "exported \(UserCount.text(users.count))"
        let left = users.omissions
        let parts = [
            (left.passwords, "passwords that were hashed in another way"),
            (left.accounts, "accounts at other providers"),
            (left.secondFactors, "second factors"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        if !parts.isEmpty {
            text +=
                "; left out: \(parts.joined(separator: ", ")) (a JSON file with --all-fields has them, for \"users import\")"
        }
        if format != .emulator, !allFields {
            text += "; \"firebase auth:import\" reads the passwords with \(UserFile.firebaseOptions(scheme))"
        }
        return text
    }

    private func numbers(_ users: UserFile) -> [String: any Encodable & Sendable] {
        [
            "users": users.count, "omittedPasswords": users.omissions.passwords,
            "omittedAccounts": users.omissions.accounts, "omittedSecondFactors": users.omissions.secondFactors,
        ]
    }
}
