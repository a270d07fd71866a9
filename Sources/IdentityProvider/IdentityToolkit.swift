import DocumentModel
package import TokenVerification
import Logging

/// Sign-in for local use: what a request asks and what it is answered, without HTTP.
///
/// Anonymous users only; what needs another provider is answered OPERATION_NOT_ALLOWED, as Firebase does for a
/// provider that is switched off.
package struct IdentityToolkit: Sendable {
    let project: String
    let policy: TokenPolicy
    let key: SigningKey
    private let users: UserStore
    private let issuer: TokenIssuer
    private let verifier: TokenVerifier
    private let now: WallClock

    /// - Parameters:
    ///   - policy: `development` adds the admin's calls and the emulator's helpers.
    ///   - key: What tokens are signed with.
    package init(
        project: String, policy: TokenPolicy, key: SigningKey, users: UserStore,
        now: @escaping WallClock = systemWallClock
    ) {
        self.project = project
        self.policy = policy
        self.key = key
        self.users = users
        self.issuer = TokenIssuer(project: project, key: key)
        // Only tokens this host has signed speak for its users, whatever the mode.
        self.verifier = TokenVerifier(
            kind: .idToken(project: project), policy: .production, localKeys: key.keys, remoteKeys: nil, now: now)
        self.now = now
    }

    func signUp(_ request: SignInRequest) async throws -> SignInAnswer.SignUp {
        // Credentials, or a token to link them to, ask for another provider.
        guard ["email", "password", "phoneNumber", "idToken"].allSatisfy({ request[$0] == nil }) else {
            throw IdentityToolkitError.operationNotAllowed
        }
        let now = now()
        let (user, refreshToken) = try await users.signUpAnonymously(now: now)
        return SignInAnswer.SignUp(
            idToken: try issuer.idToken(for: user, signedInAt: now, now: now), refreshToken: refreshToken,
            expiresIn: String(TokenIssuer.lifetime), localId: user.localId)
    }

    func lookUp(_ request: SignInRequest) async throws -> SignInAnswer.Lookup {
        SignInAnswer.Lookup(users: [.init(try await caller(of: request))])
    }

    func delete(_ request: SignInRequest) async throws -> SignInAnswer.Delete {
        guard try await users.delete(try await caller(of: request).localId) else {
            throw IdentityToolkitError.userNotFound
        }
        return SignInAnswer.Delete()
    }

    /// The same refresh token comes back; as at Google it stays valid until its user is deleted or disabled.
    func refresh(_ request: SignInRequest) async throws -> SignInAnswer.Refresh {
        // Phones write the names in camel case.
        guard let grant = request["grant_type"] ?? request["grantType"] else {
            throw IdentityToolkitError.missingGrantType
        }
        guard grant == "refresh_token" else { throw IdentityToolkitError.invalidGrantType }
        guard let token = request["refresh_token"] ?? request["refreshToken"] else {
            throw IdentityToolkitError.missingRefreshToken
        }
        let now = now()
        switch try await users.refresh(token, now: now) {
        case .unknownToken: throw IdentityToolkitError.invalidRefreshToken
        case .deletedUser: throw IdentityToolkitError.userNotFound
        case .disabledUser: throw IdentityToolkitError.userDisabled
        case .user(let user, let signedInAt):
            let idToken = try issuer.idToken(for: user, signedInAt: signedInAt, now: now)
            return SignInAnswer.Refresh(
                id_token: idToken, access_token: idToken, refresh_token: token,
                expires_in: String(TokenIssuer.lifetime), user_id: user.localId, project_id: project)
        }
    }

    /// The admin's lookup by uids; who isn't found is left out.
    func lookUpAsAdmin(_ request: SignInRequest) async throws -> SignInAnswer.Lookup {
        var found: [SignInAnswer.User] = []
        for localID in request.texts("localId") {
            if let user = try await users.user(localID) { found.append(.init(user)) }
        }
        return SignInAnswer.Lookup(users: found.isEmpty ? nil : found)
    }

    /// The admin's update: `disableUser` alone, since anonymous users have nothing else to change.
    func updateAsAdmin(_ request: SignInRequest) async throws -> SignInAnswer.Update {
        guard let localID = request["localId"] else { throw IdentityToolkitError.missingLocalID }
        guard let disabled = request.flag("disableUser") else { throw IdentityToolkitError.operationNotAllowed }
        guard try await users.setDisabled(disabled, localID) else { throw IdentityToolkitError.userNotFound }
        return SignInAnswer.Update(localId: localID)
    }

    func deleteAsAdmin(_ request: SignInRequest) async throws -> SignInAnswer.Delete {
        guard let localID = request["localId"] else { throw IdentityToolkitError.missingLocalID }
        guard try await users.delete(localID) else { throw IdentityToolkitError.userNotFound }
        return SignInAnswer.Delete()
    }

    /// The emulator's helper: forgets all users.
    func deleteAll() async throws { try await users.deleteAll() }

    /// The user whose ID token a request carries.
    private func caller(of request: SignInRequest) async throws -> UserRecord {
        guard let token = request["idToken"] else { throw IdentityToolkitError.missingIDToken }
        switch verifier.verify(token) {
        case .valid(let verified):
            guard let user = try await users.user(verified.subject) else { throw IdentityToolkitError.userNotFound }
            guard !user.disabled else { throw IdentityToolkitError.userDisabled }
            return user
        case .invalid(.expired): throw IdentityToolkitError.tokenExpired
        case .invalid: throw IdentityToolkitError.invalidIDToken
        case .needsKeys, .unavailable: throw IdentityToolkitError.unavailable
        }
    }
}

extension SignInAnswer.User {
    init(_ user: UserRecord) {
        self.init(
            localId: user.localId, createdAt: String(user.createdAt), lastLoginAt: String(user.lastLoginAt),
            lastRefreshAt: Timestamp(microseconds: user.lastRefreshAt * 1000).rfc3339, disabled: user.disabled)
    }
}
