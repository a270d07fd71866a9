import ArgumentParser
import ControlProtocol
import DocumentModel
import StrictJSON

/// `functions-host users …`: the users who sign in at this host.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "Lists, shows, creates, changes, deletes, imports or exports users.",
        discussion: """
            The running host performs all of these but export, in the same way as for server code. Exit codes: 0 success, \
            1 failure, 2 an import left users out, 3 no host is running, 64 invalid arguments.
            """,
        subcommands: [
            UsersListCommand.self, UsersShowCommand.self, UsersCreateCommand.self, UsersDisableCommand.self,
            UsersEnableCommand.self, UsersClaimsCommand.self, UsersRevokeCommand.self, UsersDeleteCommand.self,
            UsersImportCommand.self, UsersExportCommand.self,
        ])
}

extension HostControl {
    /// Sends a `users` command.
    func users(_ verb: String, _ fields: JSONObject) async throws -> JSONValue {
        try await ask(
            ControlRequest("users", verb), body: try JSONValue.object(fields).serialized(), as: JSONValue.self)
    }
}

/// `functions-host users list [--limit N] [--after UID]`
struct UsersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists users in the order of their uids.")

    @OptionGroup var options: HostOptions

    @Option(help: "The number of users, 1 to 1000.")
    var limit = 100

    @Option(help: "The uid after which the list begins.")
    var after: String?

    func validate() throws {
        guard (1...1000).contains(limit) else { throw ValidationError("--limit is 1 to 1000") }
    }

    func run() async throws {
        try await options.run { host, report in
            var fields: JSONObject = ["limit": .integer(Int64(limit))]
            fields["after"] = after.map(JSONValue.string)
            let answer = try await host.users("list", fields)
            report.answer(UserLines.table(answer), answer)
        }
    }
}

/// `functions-host users show UID|EMAIL|PHONE`
struct UsersShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows the user with a uid, an email address or a phone number.")

    @OptionGroup var options: HostOptions

    @Argument(help: "The uid, the email address, or the phone number with its plus sign.")
    var user: String

    func run() async throws {
        try await options.run { host, report in
            let answer = try await host.users("show", ["user": .string(user)])
            report.answer(UserLines.details(answer), answer)
        }
    }
}

/// Formats users for people.
enum UserLines {
    static func table(_ answer: JSONValue) -> [String] {
        let users = elements(answer["users"])
        guard !users.isEmpty else { return ["there are no users"] }
        var lines = Table.lines(
            users.map { user in
                let text = { (name: String) in user[name]?.stringValue ?? "" }
                return [
                    text("localId"), text("email").isEmpty ? text("phoneNumber") : text("email"), text("displayName"),
                    user["disabled"] == true ? "disabled" : "",
                    time(user["createdAt"]) ?? "",
                ]
            })
        if let next = answer["next"]?.stringValue { lines.append("there are more: --after \(next)") }
        return lines
    }

    static func details(_ answer: JSONValue) -> [String] {
        Array(elements(answer["users"]).map(details(of:)).joined(separator: [""]))
    }

    static func details(of user: JSONValue) -> [String] {
        let text = { (name: String) in user[name]?.stringValue }
        let providers = elements(user["providerUserInfo"]).compactMap { provider -> String? in
            guard let id = provider["providerId"]?.stringValue else { return nil }
            return id == "password" || id == "phone" ? id : "\(id) \(provider["rawId"]?.stringValue ?? "")"
        }
        let factors = elements(user["mfaInfo"]).map { $0["phoneInfo"]?.stringValue ?? "authenticator app" }
        let verified = user["emailVerified"] == true ? "" : " (not verified)"
        let rows: [(String, String?)] = [
            ("uid", text("localId")), ("email", text("email").map { $0 + verified }), ("phone", text("phoneNumber")),
            ("name", text("displayName")), ("photo", text("photoUrl")),
            ("disabled", user["disabled"] == true ? "yes" : nil),
            ("password", user["passwordHash"] == nil ? nil : "yes"),
            ("providers", providers.isEmpty ? nil : providers.joined(separator: ", ")),
            ("factors", factors.isEmpty ? nil : factors.joined(separator: ", ")),
            ("claims", text("customAttributes")), ("created", time(user["createdAt"])),
            ("last sign-in", time(user["lastLoginAt"])), ("last refresh", text("lastRefreshAt")),
            ("tokens since", time(user["validSince"], unit: 1_000_000)),
        ]
        return rows.compactMap { name, value in
            value.map { name + String(repeating: " ", count: 14 - name.count) + Table.printable($0) }
        }
    }

    /// - Parameter unit: the unit of the number in microseconds.
    private static func time(_ value: JSONValue?, unit: Int64 = 1000) -> String? {
        guard let number = value?.stringValue.flatMap({ Int64($0) }) else { return nil }
        let (microseconds, isOver) = number.multipliedReportingOverflow(by: unit)
        return isOver ? nil : Timestamp(microseconds: microseconds).rfc3339
    }

    private static func elements(_ value: JSONValue?) -> [JSONValue] {
        guard case .array(let elements)? = value else { return [] }
        return elements
    }
}
