package import DocumentModel
package import StrictJSON
import UserStore

/// What operators do with users: the operations of admins, with sentences in place of their codes.
package struct UserAdministration: Sendable {
    package enum Operation: String, Sendable, CaseIterable {
        case list, show, create, update, revoke, delete, settings
        case importUsers = "import"
        case setSettings = "set-settings"
    }

    private let toolkit: IdentityToolkit

    package init(_ toolkit: IdentityToolkit) { self.toolkit = toolkit }

    /// - Parameter body: the operation's fields, as a JSON object.
    /// - Throws: `DocumentError` with a sentence for the operator. Nothing is changed then.
    package func perform(_ operation: Operation, _ body: [UInt8]) async throws(DocumentError) -> JSONValue {
        do {
            let call = SignInCall(
                fields: try SignInRequest(json: body), isAdmin: true,
                origin: CallOrigin(address: "operator", base: ""))
            return .object(try await perform(operation, call))
        } catch let error as IdentityToolkitError {
            throw OperatorMessage.error(error)
        } catch let conflict as UserConflict {
            throw OperatorMessage.error(IdentityToolkitError(conflict))
        } catch let error as DocumentError {
            throw error
        } catch {
            throw DocumentError(.internal, "the command failed: \(error)")
        }
    }

    private func perform(_ operation: Operation, _ call: SignInCall) async throws -> JSONObject {
        switch operation {
        case .list: return try await list(call)
        case .show: return try await show(call)
        case .create:
            let answer = try await toolkit.signUp(call)
            return try await user(answer["localId"]?.stringValue)
        case .update:
            _ = try await toolkit.update(call)
            return try await user(call["localId"])
        case .revoke:
            var call = call
            call.fields.set("validSince", to: toolkit.now())
            _ = try await toolkit.update(call)
            return try await user(call["localId"])
        case .delete: return try await toolkit.delete(call)
        case .importUsers: return try await toolkit.importUsers(call)
        case .settings: return try await toolkit.users.read { try toolkit.settings($0) }.json
        case .setSettings: return try await toolkit.updateSettings(call).json
        }
    }

    /// A page of users in the order of their ids, and where the next one begins.
    private func list(_ call: SignInCall) async throws -> JSONObject {
        let limit = min(max(Int(clamping: call.fields.integer("limit") ?? 100), 1), IdentityToolkit.maxBatch)
        let last = call["after"]
        let found = try await toolkit.listed(after: last, limit: limit + 1)
        var answer: JSONObject = [
            "users": .array(found.prefix(limit).map { .object($0.json(isWhole: false)) })
        ]
        if found.count > limit { answer["next"] = .string(found[limit - 1].uid) }
        return answer
    }

    /// The users whose uid, email address or phone number is a text: usually one.
    private func show(_ call: SignInCall) async throws -> JSONObject {
        let text = try require(call["user"], "MISSING_LOCAL_ID")
        let found = try await toolkit.users.read { users in
            var found: [UserRecord] = []
            func add(_ user: UserRecord?) {
                if let user, !found.contains(where: { $0.uid == user.uid }) { found.append(user) }
            }
            add(try users.user(text))
            if let email = Contact.email(text) { for user in try users.users(withEmail: email) { add(user) } }
            if let number = Contact.phoneNumber(text) { add(try users.user(phoneNumber: number)) }
            return found
        }
        try require(!found.isEmpty, "USER_NOT_FOUND")
        return ["users": .array(found.map { .object($0.json(isWhole: false)) })]
    }

    private func user(_ uid: String?) async throws -> JSONObject {
        let uid = uid ?? ""
        return try require(try await toolkit.users.read { try $0.user(uid) }, "USER_NOT_FOUND").json(isWhole: false)
    }
}

/// The errors of Identity Toolkit as sentences for operators.
private enum OperatorMessage {
    private static let sentences: [String: (StatusCode, String)] = [
        "USER_NOT_FOUND": (.notFound, "there is no such user"),
        "DUPLICATE_LOCAL_ID": (.alreadyExists, "there is a user with this uid already"),
        "EMAIL_EXISTS": (.alreadyExists, "another user has this email address"),
        "PHONE_NUMBER_EXISTS": (.alreadyExists, "another user has this phone number"),
        "FEDERATED_USER_ID_ALREADY_LINKED": (.alreadyExists, "another user has this account at the provider"),
        "INVALID_EMAIL": (.invalidArgument, "this is not an email address, such as ada@example.com"),
        "INVALID_PHONE_NUMBER": (
            .invalidArgument,
            "this is not a phone number with a plus sign and the country's code, such as +4915112345678"
        ),
        "INVALID_CLAIMS": (.invalidArgument, "claims are a JSON object, such as {\"admin\":true}"),
        "CLAIMS_TOO_LARGE": (
            .invalidArgument, "claims have at most \(IDTokenClaims.maxCharacters) characters as JSON"
        ),
        "FORBIDDEN_CLAIM": (.invalidArgument, "tokens have a claim of this name already"),
        "MISSING_LOCAL_ID": (.invalidArgument, "the uid is missing"),
        "MISSING_USER_ACCOUNT": (.invalidArgument, "there are no users to import"),
    ]

    static func error(_ error: IdentityToolkitError) -> DocumentError {
        let parts = error.message.split(separator: " : ", maxSplits: 1).map(String.init)
        let details = parts.count == 2 ? parts[1] : nil
        if error == .unavailable { return DocumentError(.unavailable, "the host is overloaded; retry later") }
        guard let code = parts.first, let (status, sentence) = sentences[code] else {
            return DocumentError(.invalidArgument, details ?? error.message)
        }
        // The name of a claim is worth knowing; other details repeat the sentence.
        return DocumentError(status, code == "FORBIDDEN_CLAIM" ? "\(details ?? ""): \(sentence)" : sentence)
    }
}
