import StrictJSON
import Synchronization
import UserStore

extension IdentityToolkit {
    /// Creates a user: anonymous, or with an email address and a password. With an ID token, its user gets them.
    func signUp(_ call: SignInCall) async throws -> JSONObject {
        if call.isAdmin { return try await createUser(call) }
        try require(call["localId"] == nil, "UNEXPECTED_PARAMETER : User ID")
        let isAnonymous = !["idToken", "email", "password"].contains { call.fields.has($0) && call[$0] != nil }
        let outcome: SignInOutcome
        if isAnonymous {
            outcome = try await users.commit(in: call.context) { transaction in
                var user = UserRecord(uid: Secrets.id(), createdAt: transaction.milliseconds)
                user.lastSignInAt = transaction.milliseconds
                return try complete(
                    SignInCandidate(user: user, isNew: true, provider: "anonymous"), from: call.origin,
                    in: transaction)
            }
        } else {
            outcome = try await signUpWithPassword(call)
        }
        return merged(signUpAnswer(outcome.user), with: try fields(of: outcome))
    }

    private func signUpWithPassword(_ call: SignInCall) async throws -> SignInOutcome {
        let email = try require(
            Contact.email(try require(call["email"], "MISSING_EMAIL")), "INVALID_EMAIL")
        let password = try require(call["password"], "MISSING_PASSWORD")
        try configuration.passwordPolicy.check(password)
        let name = call["displayName"]
        try Profile.check(name: name, photoURL: nil)
        let caller = try call["idToken"].map { token throws(IdentityToolkitError) in try self.caller(token) }
        let address = attempts.subject(address: call.origin.network)
        // A password is hashed only if it can be used.
        let (exists, subjects) = try await users.read { users in
            // Before anything depends on whether the address has an account.
            let linked = try caller.map { try self.user(of: $0, in: users) }
            let isOwn = linked.map { Self.isOwn(email, of: $0) } ?? false
            try require(isOwn || linked?.secondFactors.isEmpty ?? true, Self.unverifiedChangeWithFactors)
            // A sign-up can't hide it; but one address can't ask for many.
            let subjects = try self.settings(users).hidesAccounts ? [address].compactMap { $0 } : []
            try attempts.begin(subjects, in: users, now: now())
            do {
                return (try !isOwn && users.user(email: email) != nil, subjects)
            } catch {
                attempts.end(subjects)
                throw error
            }
        }
        defer { attempts.end(subjects) }
        if exists {
            if !subjects.isEmpty { try await users.commit { try attempts.fail(subjects, in: $0) } }
            throw IdentityToolkitError("EMAIL_EXISTS")
        }
        let hash = try await passwords.hash(password, for: call.origin.network)
        let newID = Secrets.id()
        let recovery = Secrets.text()
        let recovered = Mutex<MailAction?>(nil)
        let result: SignInResult<Never> = try await signIn(call, by: SignInMethod("password")) { transaction in
            var user =
                try caller.map { try self.user(of: $0, in: transaction) }
                ?? UserRecord(uid: newID, createdAt: transaction.milliseconds)
            let isOwn = Self.isOwn(email, of: user)
            try require(isOwn || user.secondFactors.isEmpty, Self.unverifiedChangeWithFactors)
            try require(try isOwn || transaction.user(email: email) == nil, "EMAIL_EXISTS")
            // Before the sign-ins end.
            let claims = try caller.flatMap { try sessionClaims(of: $0, in: transaction) }
            let old = user
            // What has verified it still counts.
            if !isOwn { user.replaceEmail(by: email, at: transaction.milliseconds) }
            let undo = try issueRecovery(of: old, now: user, code: recovery, origin: call.origin, in: transaction)
            recovered.withLock { $0 = undo }
            if let name { user.displayName = name }
            try setPassword(hash, of: &user, in: transaction)
            return .signIn(
                SignInCandidate(
                    user: user, isNew: caller == nil, provider: "password", claims: claims,
                    secondFactor: caller?.secondFactor(of: user), asksForSecondFactor: caller == nil))
        }
        announceRecovery(recovered.withLock { $0 }, code: recovery, origin: call.origin)
        return result.outcome
    }

    /// Whether a user without a password has the address already, such as by a provider: SDKs link a password to it by
    /// a sign-up.
    private static func isOwn(_ email: String, of user: UserRecord) -> Bool {
        user.email == email && user.password == nil
    }

    /// Creates a user as admin, without signing it in.
    private func createUser(_ call: SignInCall) async throws -> JSONObject {
        let creation = try await creation(call)
        return signUpAnswer(try await users.commit(in: call.context, creation))
    }

    /// What creates a user as admin: checked, and with the password hashed.
    func creation(_ call: SignInCall) async throws -> @Sendable (UserTransaction) throws -> UserRecord {
        let uid = call["localId"]
        if let uid {
            try require(call["idToken"] == nil, "UNEXPECTED_PARAMETER : User ID")
            try Profile.check(uid: uid)
        }
        let fields = call.fields
        let email = try call["email"].map { text throws(IdentityToolkitError) in
            try require(Contact.email(text), "INVALID_EMAIL")
        }
        let number = try call["phoneNumber"].map { text throws(IdentityToolkitError) in
            try require(Contact.phoneNumber(text), Contact.invalidNumber)
        }
        try Profile.check(name: call["displayName"], photoURL: call["photoUrl"])
        let caller = try call["idToken"].map { token throws(IdentityToolkitError) in try self.caller(token) }
        var hash: PasswordHash?
        if let password = call["password"] {
            try configuration.passwordPolicy.check(password)
            hash = try await passwords.hash(password, for: call.origin.network)
        }
        let password = hash
        return { transaction in
            var user =
                try caller.map { try self.user(of: $0, in: transaction) }
                ?? UserRecord(uid: uid ?? Secrets.id(), createdAt: transaction.milliseconds)
            if uid != nil { user.randomizeSignInGeneration() }
            if let email, email != user.email {
                user.email = email
                user.forgetLostEmails()
            }
            user.isEmailVerified = fields.flag("emailVerified") ?? false
            user.displayName = fields["displayName"] ?? user.displayName
            user.photoURL = fields["photoUrl"] ?? user.photoURL
            if let number { user.phoneNumber = number }
            // kreait/firebase-php calls it as an update does.
            user.isDisabled = fields.flag("disabled") ?? fields.flag("disableUser") ?? false
            user.secondFactors += try SecondFactor.list(
                fields.messages("mfaInfo"), at: transaction.milliseconds)
            if let password { try setPassword(password, of: &user, in: transaction) }
            if caller == nil { try transaction.insert(user) } else { try transaction.update(user) }
            return user
        }
    }

    private func signUpAnswer(_ user: UserRecord) -> JSONObject {
        var answer: JSONObject = [
            "kind": "identitytoolkit#SignupNewUserResponse", "localId": .string(user.uid),
        ]
        answer["displayName"] = user.displayName.map(JSONValue.string)
        answer["email"] = user.email.map(JSONValue.string)
        return answer
    }

    /// A new password ends the sign-ins from before it.
    func setPassword(_ hash: PasswordHash, of user: inout UserRecord, in transaction: UserTransaction) throws {
        user.password = hash
        user.passwordUpdatedAt = transaction.milliseconds
        try endSignIns(of: &user, in: transaction)
    }
}
