import DocumentModel
import StrictJSON
import UserStore

extension IdentityToolkit {
    /// Describes the caller; for admins, any users by any of their ids.
    func lookUp(_ call: SignInCall) async throws -> JSONObject {
        if call.isAdmin, call["idToken"] == nil { return try await lookUpAsAdmin(call) }
        let caller = try caller(call["idToken"])
        let user = try await users.read { try self.user(of: caller, in: $0) }
        return Self.lookupAnswer([user], isWhole: false)
    }

    private func lookUpAsAdmin(_ call: SignInCall) async throws -> JSONObject {
        let lookup = try UserLookup(call.fields)
        return try await users.read { Self.lookupAnswer(try lookup.run(in: $0), isWhole: true) }
    }

    /// Without `users` if there are none: Node's admin SDK needs that.
    static func lookupAnswer(_ users: [UserRecord], isWhole: Bool) -> JSONObject {
        var answer: JSONObject = ["kind": "identitytoolkit#GetAccountInfoResponse"]
        if !users.isEmpty { answer["users"] = .array(users.map { .object($0.json(isWhole: isWhole)) }) }
        return answer
    }

    func delete(_ call: SignInCall) async throws -> JSONObject {
        if call.isAdmin, call["idToken"] == nil {
            let uid = try require(call["localId"], "MISSING_LOCAL_ID")
            try await users.commit(in: call.context) { transaction in
                try require(try transaction.delete(uid), "USER_NOT_FOUND")
            }
        } else {
            let caller = try caller(call["idToken"])
            let context = OperationContext(auth: EventAuth(.appUser, id: caller.uid))
            try await users.commit(in: context) { transaction in
                _ = try transaction.delete(try self.user(of: caller, in: transaction).uid)
            }
        }
        return ["kind": "identitytoolkit#DeleteAccountResponse"]
    }
}

/// Which users an admin looks up, by any of their ids.
struct UserLookup: Sendable {
    private static let maxUsers = 1000

    private let uids: [String]
    private let emails: [String]
    private let phoneNumbers: [String]
    private let identities: [(provider: String, rawID: String)]

    /// - Throws: an ``IdentityToolkitError`` if there are too many.
    init(_ fields: SignInRequest) throws(IdentityToolkitError) {
        uids = fields.texts("localId")
        emails = fields.texts("email")
        phoneNumbers = fields.texts("phoneNumber")
        identities = fields.messages("federatedUserId").compactMap { identity in
            guard let provider = identity["providerId"], let rawID = identity["rawId"] else { return nil }
            return (provider, rawID)
        }
        try require(count <= Self.maxUsers, "INVALID_ARGUMENT : at most \(Self.maxUsers) users are looked up at once.")
    }

    var count: Int { uids.count + emails.count + phoneNumbers.count + identities.count }

    /// The users that exist, each once.
    func run(in users: some UserReader) throws -> [UserRecord] {
        var found: [UserRecord] = []
        var seen: Set<String> = []
        func add(_ user: UserRecord?) { if let user, seen.insert(user.uid).inserted { found.append(user) } }
        for uid in uids { add(try users.user(uid)) }
        for email in emails { add(try Contact.email(email).flatMap { try users.user(email: $0) }) }
        for number in phoneNumbers {
            add(try Contact.phoneNumber(number).flatMap { try users.user(phoneNumber: $0) })
        }
        for (provider, rawID) in identities { add(try users.user(provider: provider, rawID: rawID)) }
        return found
    }
}
