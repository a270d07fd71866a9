import StrictJSON
import UserStore

extension IdentityToolkit {
    /// How often a password is compared if what is stored is replaced meanwhile.
    private static let maxComparisons = 3

    /// Another user or password is stored than the one that was compared with.
    private struct ReplacedPassword: Error {}

    func signInWithPassword(_ call: SignInCall) async throws -> JSONObject {
        let email = try require(
            Contact.email(try require(call["email"], "MISSING_EMAIL")), "INVALID_EMAIL")
        let password = try require(call["password"], "MISSING_PASSWORD")
        let subjects = attempts.subjects(account: email, address: call.origin.network)
        try await users.read { try attempts.begin(subjects, in: $0, now: now()) }
        defer { attempts.end(subjects) }
        for _ in 0..<Self.maxComparisons {
            do {
                return try await signIn(as: email, password, subjects, call)
            } catch is ReplacedPassword {
                // By a new hash of the same password, if the user has signed in twice at the same moment.
                continue
            }
        }
        throw IdentityToolkitError.unavailable
    }

    private func signIn(
        as email: String, _ password: String, _ subjects: [AttemptGate.Subject], _ call: SignInCall
    ) async throws -> JSONObject {
        let (known, settings) = try await users.read { (try $0.user(email: email), try self.settings($0)) }
        // Without protection against enumeration, as the emulator: a disabled user isn't asked for the password.
        if let known, known.isDisabled, !settings.hidesAccounts { throw IdentityToolkitError.userDisabled }
        // If there is no such account, a password is hashed all the same where the answer must not show that.
        let isRight =
            known?.password == nil && !settings.hidesAccounts
            ? false : try await passwords.verify(password, known?.password, for: call.origin.network)
        guard let known, isRight else {
            if settings.hidesAccounts, let hash = known?.password, !passwords.isCurrent(hash) {
                _ = try await passwords.verify(password, nil, for: call.origin.network)
            }
            try await users.commit { try attempts.fail(subjects, in: $0) }
            if settings.hidesAccounts { throw IdentityToolkitError("INVALID_LOGIN_CREDENTIALS") }
            throw IdentityToolkitError(known == nil ? "EMAIL_NOT_FOUND" : "INVALID_PASSWORD")
        }
        let rehashed =
            known.password.map(passwords.isCurrent) == true
            ? nil : try await passwords.hash(password, for: call.origin.network)
        let result: SignInResult<Never> = try await signIn(call, by: SignInMethod("password")) { transaction in
            guard var user = try transaction.user(email: email), user.uid == known.uid,
                user.password == known.password
            else { throw ReplacedPassword() }
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
