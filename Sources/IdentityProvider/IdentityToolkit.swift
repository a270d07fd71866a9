import DocumentModel
package import TokenVerification
import Logging

/// The operations of local sign-in, independent of HTTP.
///
/// Supports anonymous users only. Requests for any other provider fail with OPERATION_NOT_ALLOWED, which is Firebase's
/// response for a disabled provider.
package struct IdentityToolkit: Sendable {
    let project: String
    let policy: TokenPolicy
    let key: SigningKey
    private let users: UserStore
    private let issuer: TokenIssuer
    private let verifier: TokenVerifier
    private let now: WallClock

    /// - Parameters:
    ///   - policy: `development` adds the admin's operations and the emulator's helpers.
    ///   - key: The key that signs tokens.
    package init(
        project: String, policy: TokenPolicy, key: SigningKey, users: UserStore,
        now: @escaping WallClock = systemWallClock
    ) {
        self.project = project
        self.policy = policy
        self.key = key
        self.users = users
        self.issuer = TokenIssuer(project: project, key: key)
        // Only tokens that this host has signed identify its users, in either mode.
        self.verifier = TokenVerifier(
            kind: .idToken(project: project), policy: .production, localKeys: key.keys, remoteKeys: nil, now: now)
        self.now = now
    }

    func signUp(_ request: SignInRequest) async throws -> SignInResponse.SignUp {
        // Credentials, or a token to link them to, mean a sign-up with another provider.
        guard ["email", "password", "phoneNumber", "idToken"].allSatisfy({ request[$0] == nil }) else {
            throw IdentityToolkitError.operationNotAllowed
        }
        let now = now()
        let (user, refreshToken) = try await users.signUpAnonymously(now: now)
        return SignInResponse.SignUp(
            idToken: try issuer.idToken(for: user, signedInAt: now, now: now), refreshToken: refreshToken,
            expiresIn: String(TokenIssuer.lifetime), localId: user.localId)
    }

    func lookUp(_ request: SignInRequest) async throws -> SignInResponse.Lookup {
        SignInResponse.Lookup(users: [.init(try await caller(of: request))])
    }

    func delete(_ request: SignInRequest) async throws -> SignInResponse.Delete {
        guard try await users.delete(try await caller(of: request).localId) else {
            throw IdentityToolkitError.userNotFound
        }
        return SignInResponse.Delete()
    }

    /// Issues a new ID token for a refresh token, which stays valid until its user is deleted or disabled, as with
    /// Google.
    func refresh(_ request: SignInRequest) async throws -> SignInResponse.Refresh {
        // Phones send the names in camel case.
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
            return SignInResponse.Refresh(
                id_token: idToken, access_token: idToken, refresh_token: token,
                expires_in: String(TokenIssuer.lifetime), user_id: user.localId, project_id: project)
        }
    }

    /// Looks up users by uid, as admin. Users that don't exist are omitted.
    func lookUpAsAdmin(_ request: SignInRequest) async throws -> SignInResponse.Lookup {
        var found: [SignInResponse.User] = []
        for localID in request.texts("localId") {
            if let user = try await users.user(localID) { found.append(.init(user)) }
        }
        return SignInResponse.Lookup(users: found.isEmpty ? nil : found)
    }

    /// Updates a user, as admin. Anonymous users have nothing to change but `disableUser`.
    func updateAsAdmin(_ request: SignInRequest) async throws -> SignInResponse.Update {
        guard let localID = request["localId"] else { throw IdentityToolkitError.missingLocalID }
        guard let disabled = request.flag("disableUser") else { throw IdentityToolkitError.operationNotAllowed }
        guard try await users.setDisabled(disabled, localID) else { throw IdentityToolkitError.userNotFound }
        return SignInResponse.Update(localId: localID)
    }

    func deleteAsAdmin(_ request: SignInRequest) async throws -> SignInResponse.Delete {
        guard let localID = request["localId"] else { throw IdentityToolkitError.missingLocalID }
        guard try await users.delete(localID) else { throw IdentityToolkitError.userNotFound }
        return SignInResponse.Delete()
    }

    /// Deletes all users: a helper of the emulator.
    func deleteAll() async throws { try await users.deleteAll() }

    /// Returns the user of the ID token in a request.
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

extension SignInResponse.User {
    init(_ user: UserRecord) {
        // A stored time may be any number.
        let refreshed = user.lastRefreshAt.multipliedReportingOverflow(by: 1000)
        self.init(
            localId: user.localId, createdAt: String(user.createdAt), lastLoginAt: String(user.lastLoginAt),
            lastRefreshAt: Timestamp(microseconds: refreshed.overflow ? 0 : refreshed.partialValue).rfc3339,
            disabled: user.disabled)
    }
}
