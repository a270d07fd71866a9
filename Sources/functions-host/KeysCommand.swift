import ControlAPI
import DataDirectory
import DocumentModel
import HostConfiguration
import ServiceAccounts
import ArgumentParser
import Foundation

/// `functions-host keys`
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Keys of servers, which are administrators with them, and the keys that sign users' tokens.",
        discussion: """
            A key file has the form of Google's, so that Google's client libraries use it unmodified. With a running host, \
            changes take effect at once. Exit codes: 0 success, 1 failure, 64 invalid arguments.
            """,
        subcommands: [
            KeysCreateCommand.self, KeysListCommand.self, KeysRevokeCommand.self, KeysRotateCommand.self,
        ])
}

/// `functions-host keys create NAME [--out FILE] [--url URL]`
struct KeysCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Creates a key, and writes it to a new file for a server.",
        discussion: """
            The host keeps the public half alone. The file is for its owner only, and can't be made again: create another \
            key if it is lost.
            """)

    @OptionGroup var options: HostOptions

    @Option(name: [.customLong("out"), .customShort("o")], help: "The file to create. (default: NAME-key.json)")
    var file: String?

    @Option(
        help: """
            The address at which the server reaches the firestore or auth port, such as https://db.example.com:8080. \
            (default: the configured address of the firestore port)
            """)
    var url: String?

    @Argument(help: "What the server is called: lowercase letters, digits and -.")
    var name: String

    func validate() throws {
        guard ServiceAccountKey.isName(name) else {
            throw ValidationError("\(name) is not a server's name: \(ServiceAccountKey.nameDescription)")
        }
    }

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let uri = try TokenAddress.uri(url, configuration)
            let path = absolutePath(file ?? "\(name)-key.json")
            let made = try ServiceAccountKeyFile(
                name: name, project: configuration.project, tokenURI: uri, now: Int64(Date().timeIntervalSince1970))
            // The file first: a key that no one has would only be there to be revoked.
            try FileBytes.create(path, with: made.content)
            do { try await KeyAccess(configuration).add(made.key) } catch {
                unlink(path)
                throw error
            }
            report.answer(
                [
                    "created the key \(made.key.id) of \(name) in \(path)",
                    "the server gets its tokens at \(uri); anyone with the file may read and change all documents",
                ], KeyReport(made.key, file: path))
        }
    }
}

/// `functions-host keys list`
struct KeysListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the keys that are accepted.")

    @OptionGroup var options: HostOptions

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let keys = try await KeyAccess(configuration).list().map { KeyReport($0) }
            report.answer(
                keys.isEmpty
                    ? ["there are no keys"] : keys.map { "\($0.id)  \($0.name)  \($0.created)  \($0.tokenURI)" }, keys)
        }
    }
}

/// `functions-host keys revoke ID`
struct KeysRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revokes a key: its tokens are refused at once, and its open streams end.")

    @OptionGroup var options: HostOptions

    @Argument(help: "The key's id, or its beginning.")
    var id: String

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let key = try await KeyAccess(configuration).revoke(id)
            report.answer(["revoked the key \(key.id) of \(key.name)"], KeyReport(key))
        }
    }
}

/// `functions-host keys rotate [--app-check] [--early]`
struct KeysRotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Signs users' or App Check tokens with the next key from now on.",
        discussion: """
            The host does it by itself every auth.keyRotationDays. The former key is published for 15 more days, so that \
            no user is signed out. Another key is made to be the next one, and published.
            """)

    @OptionGroup var options: HostOptions

    @Flag(help: "The key of App Check tokens, not that of users' tokens.")
    var appCheck = false

    @Flag(
        help:
            "Even if the next key was published so recently that others may not know it: they refuse its tokens for up to an hour."
    )
    var early = false

    func run() async throws {
        try await options.withConfiguration { configuration, report in
            let key = try await KeyAccess(configuration).rotate(appCheck: appCheck, early: early)
            report.answer(["tokens are signed with the key \(key.id) from now on"], key)
        }
    }
}

/// A key as commands print it.
private struct KeyReport: Encodable, Sendable {
    var id: String
    var name: String
    var email: String
    var created: String
    var tokenURI: String
    /// The file that was created.
    var file: String?

    init(_ key: ServiceAccountKey, file: String? = nil) {
        id = key.id
        name = key.name
        email = key.email
        created = Timestamp(seconds: key.created, nanoseconds: 0).rfc3339
        tokenURI = key.tokenURI
        self.file = file
    }
}
