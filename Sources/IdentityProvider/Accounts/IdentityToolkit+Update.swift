import StrictJSON
import Synchronization
import UserStore

extension IdentityToolkit {
    /// Changes the caller, or as admin any user, or does what the code of a mail is for.
    func update(_ call: SignInCall) async throws -> JSONObject {
        for name in ["provider", "upgradeToFederatedLogin"] where call.fields.has(name) {
            throw IdentityToolkitError.notSupported("\(name) is not supported.")
        }
        if let code = call["oobCode"] { return try await apply(code, from: call.origin) }
        let change = try AccountChange(call.fields, isAdmin: call.isAdmin, hasToken: call["idToken"] != nil)
        let caller = try call["idToken"].map { token throws(IdentityToolkitError) in try self.caller(token) }
        let uid = caller == nil ? try require(call["localId"], "MISSING_LOCAL_ID") : nil
        var hash: PasswordHash?
        if let password = call["password"] {
            try configuration.passwordPolicy.check(password)
            hash = try await passwords.hash(password, for: call.origin.network)
        }
        let password = hash
        let recovery = Secrets.text()
        let recovered = Mutex<MailAction?>(nil)
        let result: SignInResult<UserRecord> = try await signIn(call, by: SignInMethod("password")) { transaction in
            let old =
                try caller.map { try self.user(of: $0, in: transaction) }
                ?? require(try transaction.user(uid ?? ""), "USER_NOT_FOUND")
            // Before the sign-ins end. No function that restricted the caller's is asked again.
            let mayEndSignIns = password != nil || change.email != nil
            let claims = try mayEndSignIns ? caller.flatMap { try sessionClaims(of: $0, in: transaction) } : nil
            let user = try changed(old, by: change, password, in: transaction)
            let undo = try issueRecovery(of: old, now: user, code: recovery, origin: call.origin, in: transaction)
            recovered.withLock { $0 = undo }
            let hasNewEmail = change.email != nil && user.email != old.email
            guard let caller, password != nil || hasNewEmail else {
                try transaction.update(user)
                return .other(user)
            }
            // Tokens from before are revoked, so these begin a sign-in.
            return .signIn(
                SignInCandidate(
                    user: user, isNew: false, provider: password == nil ? caller.provider : "password", claims: claims,
                    secondFactor: caller.secondFactor(of: user), asksForSecondFactor: false,
                    isBlockable: old.isAnonymous && !user.isAnonymous && !call.isAdmin))
        }
        announceRecovery(recovered.withLock { $0 }, code: recovery, origin: call.origin)
        var answer: JSONObject
        switch result {
        case .other(let user): answer = updateAnswer(user)
        case .signedIn(let outcome): answer = merged(updateAnswer(outcome.user), with: try fields(of: outcome))
        }
        if let email = change.email { answer["newEmail"] = .string(email) }
        return answer
    }

    /// How long a revocation as of now may be under way, in seconds. One for an earlier time ends no later sign-in.
    private static let revocationDelay: Int64 = 10

    /// A user as changed, not stored yet. A new password or address and a revocation end the sign-ins from before.
    func changed(
        _ old: UserRecord, by change: AccountChange, _ password: PasswordHash?, in transaction: UserTransaction
    ) throws -> UserRecord {
        var user = old
        try change.apply(to: &user, hidesAccounts: settings(transaction).hidesAccounts, in: transaction)
        if let password { try setPassword(password, of: &user, in: transaction) }
        let isRevoked = change.validSince.map { $0 >= transaction.seconds - Self.revocationDelay } ?? false
        if isRevoked || change.email != nil && user.email != old.email {
            try endSignIns(of: &user, in: transaction)
            // A later time, of a clock that is fast or in another unit, would refuse tokens of sign-ins that begin now.
            if let time = change.validSince { user.validSince = min(time, transaction.seconds) }
        }
        return user
    }

    func updateAnswer(_ user: UserRecord) -> JSONObject {
        var answer: JSONObject = [
            "kind": "identitytoolkit#SetAccountInfoResponse", "localId": .string(user.uid),
            "emailVerified": .bool(user.isEmailVerified),
            "providerUserInfo": .array(user.providerInfo.map(JSONValue.object)),
        ]
        answer["email"] = user.email.map(JSONValue.string)
        answer["displayName"] = user.displayName.map(JSONValue.string)
        answer["photoUrl"] = user.photoURL.map(JSONValue.string)
        if user.password != nil { answer["passwordHash"] = .string(UserRecord.redactedHash) }
        return answer
    }
}
