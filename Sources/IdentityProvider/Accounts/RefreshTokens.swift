import StrictJSON
import UserStore

extension IdentityToolkit {
    /// How long the predecessor of a token may still be used after the token was: other tabs of a browser may have it.
    static let successionGrace: Int64 = 60
    /// How many successors of one token may be lost on their way.
    static let maxLostSuccessors = 8

    /// - Returns: the token's text, which isn't stored.
    func insertRefreshToken(
        for session: SignInSession, from origin: CallOrigin, in transaction: UserTransaction
    ) throws -> String {
        let familySecret = RefreshTokenText.newFamilySecret()
        let text = RefreshTokenText(of: session.uid, familySecret: familySecret).text
        try transaction.insert(
            RefreshToken(
                session: session, issuedAt: transaction.seconds, family: RefreshTokenText.family(of: familySecret),
                origin: Self.trace(of: origin)),
            hash: Secrets.hash(text))
        return text
    }

    /// Issues a new ID token.
    ///
    /// The refresh token stays good, as with Google. One that is used from another address than before gets a successor;
    /// if it comes again once the successor is in use, it was copied, and all tokens of the sign-in end, even if the token
    /// itself isn't stored any more. They also end if it comes again and again from other addresses, and no successor is ever
    /// used. From the address of a successor it comes from the same client, and gets a successor of its own.
    func refresh(_ call: SignInCall) async throws -> JSONObject {
        let grant = try require(call["grantType"], "MISSING_GRANT_TYPE")
        try require(grant == "refresh_token", "INVALID_GRANT_TYPE")
        let text = try require(call["refreshToken"], "MISSING_REFRESH_TOKEN")
        let origin = Self.trace(of: call.origin)
        let hash = Secrets.hash(text)
        let result: Result<SignedInUser, IdentityToolkitError>
        if try await users.read({ try $0.refreshToken(hash) != nil }),
            let stored = try await users.commit({ transaction in try refresh(text, from: origin, in: transaction) })
        {
            result = stored
        } else {
            result = try await refreshForgotten(text, from: origin)
        }
        let signedIn = try result.get()
        let idToken = try issuer.idToken(of: signedIn.user, in: signedIn.session, now: signedIn.issuedAt)
        return [
            "id_token": .string(idToken), "access_token": .string(idToken),
            "refresh_token": .string(signedIn.refreshToken), "expires_in": .string(String(TokenIssuer.lifetime)),
            "token_type": "Bearer", "user_id": .string(signedIn.user.uid),
            "project_id": .string(configuration.projectNumber ?? project),
        ]
    }

    /// Refreshes a token that isn't stored, if the sign-in that it belonged to goes on at the same address. If that goes on
    /// elsewhere, the token was copied, and the sign-in ends.
    ///
    /// Anyone may send such texts. So the sign-in is looked for in turn by address, and the writer's thread, for which
    /// all commits wait, isn't asked before it is found.
    private func refreshForgotten(
        _ text: String, from origin: [UInt8]
    ) async throws -> Result<SignedInUser, IdentityToolkitError> {
        let given = try require(RefreshTokenText(text), "INVALID_REFRESH_TOKEN")
        let named = given.familySecret.map { RefreshTokenText.family(of: $0) }
        let client = origin.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let goesOn = try await users.read(of: client) { users in
            // Clients sign out on both codes, and would try for ever on another.
            try require(try users.user(given.uid) != nil, "USER_NOT_FOUND")
            return try named.map { try users.hasFamily($0, of: given.uid) } ?? false
        }
        guard goesOn, let family = named else { return .failure(IdentityToolkitError("TOKEN_EXPIRED")) }
        return try await users.commit { transaction -> Result<SignedInUser, IdentityToolkitError> in
            // The client has moved more than once since a tab was frozen.
            guard let (hash, current) = try transaction.currentToken(of: family, from: origin, uid: given.uid) else {
                try transaction.endFamily(family, of: given.uid)
                return .failure(IdentityToolkitError("TOKEN_EXPIRED"))
            }
            let user = try refreshingUser(of: current, in: transaction)
            return try issueSuccessor(
                of: current, hash, succeeds: nil, for: user, familySecret: given.familySecret, from: origin,
                in: transaction)
        }
    }

    /// - Returns: the user, or a failure that is decided together with a change; nil if the token isn't stored.
    private func refresh(
        _ text: String, from origin: [UInt8], in transaction: UserTransaction
    ) throws -> Result<SignedInUser, IdentityToolkitError>? {
        let hash = Secrets.hash(text)
        guard let token = try transaction.refreshToken(hash) else { return nil }
        let user = try refreshingUser(of: token, in: transaction)
        var isLate = false
        if let supersededAt = token.supersededAt, transaction.seconds > supersededAt + Self.successionGrace {
            // Where a successor is used, a tab that the browser had frozen meanwhile may have it, or an app's extension.
            guard try transaction.currentToken(of: token.family, from: origin, uid: user.uid) != nil else {
                try transaction.endFamily(token.family, of: user.uid)
                return .failure(IdentityToolkitError("TOKEN_EXPIRED"))
            }
            isLate = true
        }
        if let predecessor = token.predecessor, var old = try transaction.refreshToken(predecessor),
            old.supersededAt == nil
        {
            // The client has this one now. Of its predecessors, one remains, to notice a copy of it.
            old.supersededAt = transaction.seconds
            for other in old.successors where other != hash {
                guard let lost = try transaction.refreshToken(other) else { continue }
                // Another tab of the same browser may have it, and does have one without a predecessor.
                if lost.predecessor != nil, lost.origin != token.origin { transaction.delete(lost, hash: other) }
            }
            if let older = old.predecessor, let token = try transaction.refreshToken(older) {
                transaction.delete(token, hash: older)
            }
            (old.predecessor, old.successors) = (nil, [])
            transaction.update(old, hash: predecessor)
        }
        guard isLate || !token.origin.isEmpty && token.origin != origin else {
            return .success(try refreshed(user, in: token.session, text, in: transaction))
        }
        return try issueSuccessor(
            of: token, hash, succeeds: isLate ? nil : hash, for: user,
            familySecret: RefreshTokenText(text)?.familySecret, from: origin, in: transaction)
    }

    /// - Throws: an ``IdentityToolkitError`` if the user's tokens are not to be refreshed.
    private func refreshingUser(of token: RefreshToken, in transaction: UserTransaction) throws -> UserRecord {
        var user = try require(try transaction.user(token.session.uid), "USER_NOT_FOUND")
        try require(!user.isDisabled, "USER_DISABLED")
        user.limitRevocation(to: transaction.seconds)
        try require(token.issuedAt >= user.validSince ?? 0, "TOKEN_EXPIRED")
        return user
    }

    /// Issues another token of the same sign-in, unless it has as many as a client can have lost.
    ///
    /// - Parameter predecessor: the token that ends once the new one is used; nil if another tab goes on with it, or with a
    ///   successor of it.
    private func issueSuccessor(
        of given: RefreshToken, _ hash: [UInt8], succeeds predecessor: [UInt8]?, for user: UserRecord,
        familySecret: String?, from origin: [UInt8], in transaction: UserTransaction
    ) throws -> Result<SignedInUser, IdentityToolkitError> {
        var token = given
        if token.successors.count >= Self.maxLostSuccessors {
            // Those of other tabs weren't lost. A tab whose token is deleted gets another one.
            for other in token.successors {
                guard let own = try transaction.refreshToken(other), own.predecessor == nil else { continue }
                transaction.delete(own, hash: other)
                token.successors.removeAll { $0 == other }
                break
            }
        }
        guard token.successors.count < Self.maxLostSuccessors else {
            try transaction.endFamily(token.family, of: user.uid)
            return .failure(IdentityToolkitError("TOKEN_EXPIRED"))
        }
        let newest = RefreshTokenText(of: user.uid, familySecret: familySecret).text
        let successor = Secrets.hash(newest)
        try transaction.insert(
            RefreshToken(
                session: token.session, issuedAt: token.issuedAt, family: token.family, origin: origin,
                predecessor: predecessor),
            hash: successor)
        token.successors.append(successor)
        transaction.update(token, hash: hash)
        return .success(try refreshed(user, in: token.session, newest, in: transaction))
    }

    private func refreshed(
        _ user: UserRecord, in session: SignInSession, _ refreshToken: String, in transaction: UserTransaction
    ) throws -> SignedInUser {
        var user = user
        user.lastRefreshAt = transaction.milliseconds
        try transaction.update(user)
        return SignedInUser(
            user: user, session: session, refreshToken: refreshToken, issuedAt: transaction.seconds, isNew: false)
    }

    /// What is kept of an address: enough to see whether it is the same.
    private static func trace(of origin: CallOrigin) -> [UInt8] {
        Array(Secrets.hash("address " + origin.network).prefix(8))
    }
}
