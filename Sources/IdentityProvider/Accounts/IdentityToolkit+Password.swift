import StrictJSON
import UserStore

extension IdentityToolkit {
    func signInWithPassword(_ call: SignInCall) async throws -> JSONObject {
        let email = try require(
            Contact.email(try require(call["email"], "MISSING_EMAIL")), "INVALID_EMAIL")
        let password = try require(call["password"], "MISSING_PASSWORD")
        let subjects = attempts.subjects(account: email, address: call.origin.address)
        let (known, settings) = try await users.read { users in
            try attempts.begin(subjects, in: users, now: now())
            do {
                return (try users.user(email: email), try self.settings(users))
            } catch {
                attempts.end(subjects)
                throw error
            }
        }
        defer { attempts.end(subjects) }
        // Without protection against enumeration, as the emulator: a disabled user isn't asked for the password.
        if let known, known.isDisabled, !settings.hidesAccounts { throw IdentityToolkitError.userDisabled }
        // If there is no such account, a password is hashed all the same where the answer must not show that.
        let isRight =
            known?.password == nil && !settings.hidesAccounts
            ? false : try await passwords.verify(password, known?.password, for: call.origin.address)
        guard let known, isRight else {
            if settings.hidesAccounts, let hash = known?.password, !passwords.isCurrent(hash) {
                _ = try await passwords.verify(password, nil, for: call.origin.address)
            }
            try await users.commit { try attempts.fail(subjects, in: $0) }
            if settings.hidesAccounts { throw IdentityToolkitError("INVALID_LOGIN_CREDENTIALS") }
            throw IdentityToolkitError(known == nil ? "EMAIL_NOT_FOUND" : "INVALID_PASSWORD")
        }
        let rehashed =
            known.password.map(passwords.isCurrent) == true
            ? nil : try await passwords.hash(password, for: call.origin.address)
        let result: SignInResult<Never> = try await signIn(call, by: SignInMethod("password")) { transaction in
            var user = try require(try transaction.user(email: email), "EMAIL_NOT_FOUND")
            // Changed since it was verified.
            try require(user.uid == known.uid && user.password == known.password, "INVALID_PASSWORD")
            if let rehashed { user.password = rehashed }
            try attempts.succeed(subjects, in: transaction)
            return .signIn(SignInCandidate(user: user, isNew: false, provider: "password"))
        }
        return merged(
            [
                "kind": "identitytoolkit#VerifyPasswordResponse", "registered": true, "localId": .string(known.uid),
                "email": .string(email), "displayName": .string(known.displayName ?? ""),
            ], with: try fields(of: result.outcome))
    }
}
