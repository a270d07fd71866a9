import StrictJSON
import UserStore

extension IdentityToolkit {
    /// Signs in by an identity provider, or links its account to the caller's.
    func signInWithProvider(_ call: SignInCall) async throws -> JSONObject {
        var assertion = try ProviderAssertion(call)
        let profile = try await profile(&assertion, call)
        let provider = assertion.provider
        let caller = try call["idToken"].map { token throws(IdentityToolkitError) in try self.caller(token) }
        var answer = try profile.answer(of: provider)
        answer["oauthIdToken"] = assertion.idToken.map(JSONValue.string)
        // Clients make credentials of it.
        let accessToken =
            assertion.accessToken ?? (isDevelopment ? "FirebaseAuthEmulatorFakeAccessToken_\(provider)" : nil)
        answer["oauthAccessToken"] = accessToken.map(JSONValue.string)
        answer["oauthExpireIn"] = assertion.expiresIn.map { .integer($0) }
        // It lives long: a browser has no use for it.
        if call.fields.flag("returnRefreshToken") == true {
            answer["oauthRefreshToken"] = assertion.refreshToken.map(JSONValue.string)
        }
        var method = SignInMethod(provider)
        (method.profile, method.idToken, method.accessToken) = (
            profile.claims, assertion.idToken, assertion.accessToken
        )
        (method.refreshToken, method.expiresIn) = (assertion.refreshToken, assertion.expiresIn)
        // A user who proves again who they are isn't to become another one.
        let newID = call.fields.flag("autoCreate") == false ? nil : Secrets.id()
        let result: SignInResult<UserRecord>
        do {
            result = try await signIn(call, by: method) { transaction in
                try self.propose(profile, of: provider, caller, newID, in: transaction)
            }
        } catch let refusal as LinkRefusal {
            guard call.fields.flag("returnIdpCredential") == true else { throw IdentityToolkitError(refusal.message) }
            answer["errorMessage"] = .string(refusal.message)
            providers.expectSignIn(with: assertion, from: call.origin.network)
            return answer
        }
        switch result {
        case .other(let user):
            answer["needConfirmation"] = true
            answer["localId"] = .string(user.uid)
            answer["verifiedProvider"] = .array(user.identities.map { .string($0.provider) })
            return answer
        case .signedIn(let outcome):
            let user = outcome.user
            answer["localId"] = .string(user.uid)
            answer["isNewUser"] = .bool(outcome.isNew)
            if user.email == profile.email { answer["emailVerified"] = .bool(user.isEmailVerified) }
            return merged(answer, with: try fields(of: outcome))
        }
    }

    /// What the provider says of the user.
    ///
    /// It may have to be asked, by this host and in the name of the app: what it refuses counts as a failed attempt of
    /// the client's address.
    private func profile(_ assertion: inout ProviderAssertion, _ call: SignInCall) async throws -> ProviderProfile {
        let subjects = [attempts.subject(assertionsFrom: call.origin.network)].compactMap { $0 }
        if !subjects.isEmpty { try await users.read { try attempts.begin(subjects, in: $0, now: now()) } }
        defer { attempts.end(subjects) }
        do {
            var profile = try await providers.profile(
                &assertion, isLinking: call["idToken"] != nil, from: call.origin.network,
                handler: handlerAddress(call))
            try profile.setName(first: assertion.firstName, last: assertion.lastName)
            return profile
        } catch let error as IdentityToolkitError where error.message.hasPrefix("INVALID_IDP_RESPONSE") {
            if !subjects.isEmpty { try await users.commit { try attempts.fail(subjects, in: $0) } }
            throw error
        }
    }

    /// Why an account can't be linked: clients that ask for it get this beside the credential.
    private struct LinkRefusal: Error {
        var message: String
    }

    /// - Parameter newID: the uid of a user to create; nil to create none.
    /// - Returns: the user who has the address, if the provider hasn't verified it: the client has to confirm.
    private func propose(
        _ profile: ProviderProfile, of provider: String, _ caller: Caller?, _ newID: String?,
        in transaction: UserTransaction
    ) throws -> SignInProposal<UserRecord> {
        let settings = try settings(transaction)
        let identity = profile.identity(of: provider)
        let owner = try transaction.user(provider: provider, rawID: profile.rawID)
        func signIn(_ user: UserRecord, isNew: Bool = false) throws -> SignInProposal<UserRecord> {
            try require(!user.isDisabled, "USER_DISABLED")
            var user = user
            var entered = identity
            // Apple tells the name once.
            let known = user.identities.first { $0.provider == provider && $0.rawID == identity.rawID }
            entered.displayName = entered.displayName ?? known?.displayName
            user.set(entered)
            // SDKs that link an account can't ask for a second factor: the caller goes on with what they have proved.
            return .signIn(
                SignInCandidate(
                    user: user, isNew: isNew, provider: provider,
                    claims: try caller.flatMap { try sessionClaims(of: $0, in: transaction) },
                    secondFactor: caller?.secondFactor(of: user), asksForSecondFactor: caller == nil))
        }
        if let caller {
            let user = try self.user(of: caller, in: transaction)
            guard owner == nil else { throw LinkRefusal(message: "FEDERATED_USER_ID_ALREADY_LINKED") }
            return try signIn(
                try linked(user, to: profile, isOnePerEmail: !settings.allowsDuplicateEmails, in: transaction))
        }
        if let owner { return try signIn(owner) }
        if !settings.allowsDuplicateEmails, let email = profile.email, var user = try transaction.user(email: email) {
            guard profile.isEmailVerified else { return .other(user) }
            if !user.isEmailVerified {
                try handOver(&user, in: transaction)
                // Another person may have chosen them.
                (user.displayName, user.photoURL) = (nil, nil)
            }
            // Apple's tokens have neither.
            user.displayName = profile.displayName ?? user.displayName
            user.photoURL = profile.photoURL ?? user.photoURL
            user.isEmailVerified = true
            return try signIn(user)
        }
        // Not USER_NOT_FOUND, by which the web SDK would take the session for ended, and sign its user out.
        let newID = try require(newID, "EMAIL_NOT_FOUND : No user has this account at the provider.")
        var user = UserRecord(uid: newID, createdAt: transaction.milliseconds)
        user.displayName = profile.displayName
        user.photoURL = profile.photoURL
        if !settings.allowsDuplicateEmails, let email = profile.email {
            user.email = email
            user.isEmailVerified = profile.isEmailVerified
        }
        return try signIn(user, isNew: true)
    }

    /// A user who gets an account of a provider.
    private func linked(
        _ user: UserRecord, to profile: ProviderProfile, isOnePerEmail: Bool, in transaction: UserTransaction
    ) throws -> UserRecord {
        var user = user
        guard let email = profile.email else { return user }
        if isOnePerEmail {
            if let other = try transaction.user(email: email), other.uid != user.uid {
                throw LinkRefusal(message: "EMAIL_EXISTS")
            }
            // With second factors, an address would be out of its owner's reach: they stay when the owner comes.
            if user.email == nil, profile.isEmailVerified || user.secondFactors.isEmpty {
                user.email = email
                user.isEmailVerified = profile.isEmailVerified
            }
        }
        if user.email == email, profile.isEmailVerified { user.isEmailVerified = true }
        return user
    }

    /// Tells how an email address signs in.
    func createAuthURI(_ call: SignInCall) async throws -> JSONObject {
        let sessionID = call["sessionId"] ?? Secrets.id(27)
        if call["providerId"] != nil {
            throw IdentityToolkitError.notSupported("Sign-in with a provider begins at the client's page.")
        }
        let identifier = try require(call["identifier"], "MISSING_IDENTIFIER")
        let continueURI = try require(call["continueUri"], "MISSING_CONTINUE_URI")
        let email = try require(Contact.email(identifier), "INVALID_IDENTIFIER")
        try require(WebAddress(continueURI) != nil, "INVALID_CONTINUE_URI")
        var answer: JSONObject = [
            "kind": "identitytoolkit#CreateAuthUriResponse", "sessionId": .string(sessionID),
        ]
        let (found, settings) = try await users.read { (try $0.users(withEmail: email), try self.settings($0)) }
        if settings.hidesAccounts { return answer }
        let user = settings.allowsDuplicateEmails ? found.first { $0.email == email } : found.first
        var (providers, methods) = ([String](), [String]())
        if let user {
            if user.hasEmailProvider { providers.append("password") }
            if user.email == email, user.password != nil { methods.append("password") }
            if user.usesEmailLink { methods.append("emailLink") }
            if !settings.allowsDuplicateEmails {
                providers += user.identities.map(\.provider)
                methods += user.identities.map(\.provider)
            }
        }
        answer["registered"] = .bool(user != nil)
        answer["allProviders"] = .array(providers.map(JSONValue.string))
        answer["signinMethods"] = .array(methods.map(JSONValue.string))
        return answer
    }
}
