import DocumentModel
import StrictJSON
import UserStore

extension IdentityToolkit {
    private static let maxLookups = 1000

    /// Describes the caller; for admins, any users by any of their ids.
    func lookUp(_ call: SignInCall) async throws -> JSONObject {
        if call.isAdmin, call["idToken"] == nil { return try await lookUpAsAdmin(call) }
        let caller = try caller(call["idToken"])
        let user = try await users.read { try self.user(of: caller, in: $0) }
        return Self.lookupAnswer([user], isWhole: false)
    }

    private func lookUpAsAdmin(_ call: SignInCall) async throws -> JSONObject {
        let fields = call.fields
        let identities = fields.messages("federatedUserId")
        let (uids, emails, numbers) = (
            fields.texts("localId"), fields.texts("email"), fields.texts("phoneNumber")
        )
        try require(
            uids.count + emails.count + numbers.count + identities.count <= Self.maxLookups,
            "INVALID_ARGUMENT : at most \(Self.maxLookups) users are looked up at once.")
        let found = try await users.read { users -> [UserRecord] in
            var found: [UserRecord] = []
            var seen: Set<String> = []
            func add(_ user: UserRecord?) { if let user, seen.insert(user.uid).inserted { found.append(user) } }
            for uid in uids { add(try users.user(uid)) }
            for email in emails { add(try Contact.email(email).flatMap { try users.user(email: $0) }) }
            for number in numbers { add(try Contact.phoneNumber(number).flatMap { try users.user(phoneNumber: $0) }) }
            for identity in identities {
                guard let provider = identity["providerId"], let rawID = identity["rawId"] else { continue }
                add(try users.user(provider: provider, rawID: rawID))
            }
            return found
        }
        return Self.lookupAnswer(found, isWhole: true)
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
