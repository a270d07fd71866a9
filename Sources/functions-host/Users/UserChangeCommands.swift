import ArgumentParser
import DocumentModel
import StrictJSON

/// `functions-host users create`
struct UsersCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Creates a user, and notifies the functions that wait for new users.",
        discussion: "Passwords are read from standard input, because other users of the machine see command lines.")

    @OptionGroup var options: HostOptions

    @Option(help: "The uid: 1 to 128 characters. (default: a random one)")
    var uid: String?

    @Option(help: "The email address.")
    var email: String?

    @Flag(help: "Read the password from standard input: its first line.")
    var passwordStdin = false

    @Option(help: "The phone number with a plus sign and the country's code.")
    var phone: String?

    @Option(help: "The name that is shown.")
    var name: String?

    @Option(help: "The address of a picture.")
    var photo: String?

    @Flag(help: "The email address is verified.")
    var verified = false

    @Flag(help: "The user can't sign in.")
    var disabled = false

    func validate() throws {
        if passwordStdin, email == nil { throw ValidationError("a password needs an email address: --email") }
        if verified, email == nil { throw ValidationError("--verified needs an email address: --email") }
    }

    func run() async throws {
        try await options.run { host, report in
            var fields: JSONObject = ["emailVerified": .bool(verified), "disabled": .bool(disabled)]
            let texts = [
                ("localId", uid), ("email", email), ("phoneNumber", phone), ("displayName", name), ("photoUrl", photo),
            ]
            for (key, text) in texts { fields[key] = text.map(JSONValue.string) }
            if passwordStdin {
                guard let password = readLine(), !password.isEmpty else {
                    throw ValidationError("standard input has no password")
                }
                fields["password"] = .string(password)
            }
            let user = try await host.users("create", fields)
            report.answer(["created the user \(user["localId"]?.stringValue ?? "")"], user)
        }
    }
}

/// `functions-host users disable UID`
struct UsersDisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Keeps a user from signing in and from refreshing tokens.",
        discussion: "ID tokens that the user has already are valid until they expire, at most an hour later.")

    @OptionGroup var options: HostOptions

    @Argument(help: "The uid.")
    var uid: String

    func run() async throws {
        try await options.update(uid, ["disableUser": true], "the user \(uid) can't sign in any more")
    }
}

/// `functions-host users enable UID`
struct UsersEnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable", abstract: "Lets a user who was disabled sign in again.")

    @OptionGroup var options: HostOptions

    @Argument(help: "The uid.")
    var uid: String

    func run() async throws {
        try await options.update(uid, ["disableUser": false], "the user \(uid) can sign in")
    }
}

/// `functions-host users claims UID JSON|--clear`
struct UsersClaimsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "claims", abstract: "Replaces the custom claims of a user's tokens.",
        discussion: "Tokens have them from the next refresh on, within an hour.")

    @OptionGroup var options: HostOptions

    @Flag(help: "Remove all custom claims.")
    var clear = false

    @Argument(help: "The uid.")
    var uid: String

    @Argument(help: "The claims, as a JSON object such as {\"admin\":true}.")
    var claims: String?

    func validate() throws {
        guard clear != (claims != nil) else {
            throw ValidationError("write the claims as a JSON object, such as '{\"admin\":true}', or --clear")
        }
        guard let claims else { return }
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue(parsing: Array(claims.utf8)) } catch {
            throw ValidationError("the claims are not JSON: \(error)")
        }
        guard case .object = value else {
            throw ValidationError("claims are a JSON object, such as {\"admin\":true}; this is \(claims)")
        }
    }

    func run() async throws {
        try await options.update(
            uid, ["customAttributes": .string(claims ?? "{}")],
            clear ? "removed the claims of the user \(uid)" : "set the claims of the user \(uid)")
    }
}

/// `functions-host users revoke UID`
struct UsersRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Ends all sign-ins of a user: refresh tokens are refused from now on.",
        discussion: "ID tokens that the user has already are valid until they expire, at most an hour later.")

    @OptionGroup var options: HostOptions

    @Argument(help: "The uid.")
    var uid: String

    func run() async throws {
        try await options.run { host, report in
            let user = try await host.users("revoke", ["localId": .string(uid)])
            report.answer(["ended the sign-ins of the user \(uid)"], user)
        }
    }
}

/// `functions-host users delete UID…`
struct UsersDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Deletes users, and notifies the functions that wait for it.")

    @OptionGroup var options: HostOptions

    @Argument(help: "The uids.")
    var uids: [String]

    func run() async throws {
        try await options.run { host, report in
            for (index, uid) in uids.enumerated() {
                do {
                    _ = try await host.users("delete", ["localId": .string(uid)])
                } catch let error as DocumentError {
                    let before = index > 0 ? " (\(UserCount.text(index)) before it deleted)" : ""
                    throw DocumentError(error.code, "\(uid): \(error.message)\(before)")
                }
            }
            report.result("deleted \(UserCount.text(uids.count))", ["deleted": uids.count])
        }
    }
}

extension HostOptions {
    /// Changes a user.
    fileprivate func update(_ uid: String, _ change: JSONObject, _ sentence: String) async throws {
        try await run { host, report in
            var fields = change
            fields["localId"] = .string(uid)
            report.answer([sentence], try await host.users("update", fields))
        }
    }
}

enum UserCount {
    static func text(_ count: Int) -> String { "\(count) user\(count == 1 ? "" : "s")" }
}
