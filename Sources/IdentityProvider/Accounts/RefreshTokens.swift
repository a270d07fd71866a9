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
        guard try await users.read({ try $0.refreshToken(hash) != nil }),
            let result = try await users.commit({ transaction in
                try refresh(text, from: origin, in: transaction)
            })
        else { throw try await refusal(of: text, from: origin) }
        let signedIn = try result.get()
        let idToken = try issuer.idToken(of: signedIn.user, in: signedIn.session, now: signedIn.issuedAt)
        return [
            "id_token": .string(idToken), "access_token": .string(idToken),
            "refresh_token": .string(signedIn.refreshToken), "expires_in": .string(String(TokenIssuer.lifetime)),
            "token_type": "Bearer", "user_id": .string(signedIn.user.uid),
            "project_id": .string(configuration.projectNumber ?? project),
        ]
    }

    /// Why a token is refused that isn't stored. If the sign-in that it belonged to goes on, it was copied: the sign-in
    /// ends.
    ///
    /// Anyone may send such texts. So the sign-in is looked for in turn by address, and the writer's thread, for which
    /// all commits wait, isn't asked before it is found.
    private func refusal(of text: String, from origin: [UInt8]) async throws -> IdentityToolkitError {
        let given = try require(RefreshTokenText(text), "INVALID_REFRESH_TOKEN")
        let family = given.familySecret.map { RefreshTokenText.family(of: $0) }
        let client = origin.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let isCopy = try await users.read(of: client) { users in
            // Clients sign out on both codes, and would try for ever on another.
            try require(try users.user(given.uid) != nil, "USER_NOT_FOUND")
            return try family.map { try users.hasFamily($0, of: given.uid) } ?? false
        }
        if isCopy, let family { try await users.commit { try $0.endFamily(family, of: given.uid) } }
        return IdentityToolkitError("TOKEN_EXPIRED")
    }

    /// - Returns: the user, or a failure that is decided together with a change; nil if the token isn't stored.
    private func refresh(
        _ text: String, from origin: [UInt8], in transaction: UserTransaction
    ) throws -> Result<SignedInUser, IdentityToolkitError>? {
        let hash = Secrets.hash(text)
        guard var token = try transaction.refreshToken(hash) else { return nil }
        let session = token.session
        var user = try require(try transaction.user(session.uid), "USER_NOT_FOUND")
        try require(!user.isDisabled, "USER_DISABLED")
        user.limitRevocation(to: transaction.seconds)
        try require(token.issuedAt >= user.validSince ?? 0, "TOKEN_EXPIRED")
        var isLate = false
        if let supersededAt = token.supersededAt, transaction.seconds > supersededAt + Self.successionGrace {
            // Where a successor is used, a tab that the browser had frozen meanwhile may have it, or an app's extension.
            guard try transaction.hasCurrentToken(of: token.family, from: origin, uid: user.uid) else {
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
                // Another tab of the same browser may have it.
                if lost.origin != token.origin { transaction.delete(lost, hash: other) }
            }
            if let older = old.predecessor, let token = try transaction.refreshToken(older) {
                transaction.delete(token, hash: older)
            }
            (old.predecessor, old.successors) = (nil, [])
            transaction.update(old, hash: predecessor)
        }
        var newest = text
        if isLate || !token.origin.isEmpty && token.origin != origin {
            guard token.successors.count < Self.maxLostSuccessors else {
                try transaction.endFamily(token.family, of: user.uid)
                return .failure(IdentityToolkitError("TOKEN_EXPIRED"))
            }
            newest = RefreshTokenText(of: session.uid, familySecret: RefreshTokenText(text)?.familySecret).text
            let successor = Secrets.hash(newest)
            try transaction.insert(
                RefreshToken(
                    session: session, issuedAt: token.issuedAt, family: token.family, origin: origin,
                    predecessor: hash),
                hash: successor)
            token.successors.append(successor)
            transaction.update(token, hash: hash)
        }
        user.lastRefreshAt = transaction.milliseconds
        try transaction.update(user)
        return .success(
            SignedInUser(
                user: user, session: session, refreshToken: newest, issuedAt: transaction.seconds, isNew: false))
    }

    /// What is kept of an address: enough to see whether it is the same.
    private static func trace(of origin: CallOrigin) -> [UInt8] {
        Array(Secrets.hash("address " + origin.address).prefix(8))
    }
}
