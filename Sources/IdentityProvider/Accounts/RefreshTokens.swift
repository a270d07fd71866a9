import StrictJSON
import UserStore

extension IdentityToolkit {
    /// How long the predecessor of a token may still be used after the token was: other tabs of a browser may have it.
    static let successionGrace: Int64 = 60

    /// - Returns: the token's text, which isn't stored.
    func insertRefreshToken(
        for session: SignInSession, from origin: CallOrigin, in transaction: UserTransaction
    ) throws -> String {
        // The uid in the text tells the tokens of deleted users from invented ones.
        let text = session.uid + "." + Secrets.text()
        try transaction.insert(
            RefreshToken(
                session: session, issuedAt: transaction.seconds, family: Secrets.bytes(16),
                origin: Self.trace(of: origin)),
            hash: Secrets.hash(text))
        return text
    }

    /// Issues a new ID token.
    ///
    /// The refresh token stays good, as with Google. One that is used from another address than before gets a successor;
    /// if it comes again once the successor is in use, it was copied, and no token of the sign-in is good any more.
    func refresh(_ call: SignInCall) async throws -> JSONObject {
        let grant = try require(call["grantType"], "MISSING_GRANT_TYPE")
        try require(grant == "refresh_token", "INVALID_GRANT_TYPE")
        let text = try require(call["refreshToken"], "MISSING_REFRESH_TOKEN")
        let origin = Self.trace(of: call.origin)
        let result = try await users.commit { transaction in
            try refresh(text, from: origin, in: transaction)
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

    /// - Returns: the user, or a failure that is decided together with a change.
    private func refresh(
        _ text: String, from origin: [UInt8], in transaction: UserTransaction
    ) throws -> Result<SignedInUser, IdentityToolkitError> {
        let hash = Secrets.hash(text)
        guard var token = try transaction.refreshToken(hash) else {
            let uid = text.lastIndex(of: ".").map { String(text[..<$0]) }
            // Its text has a uid in front; an invented one may have anything there.
            let isDeleted = try uid.map { try $0.utf8.count <= 512 && !$0.isEmpty && transaction.user($0) == nil }
            throw IdentityToolkitError(isDeleted == true ? "USER_NOT_FOUND" : "INVALID_REFRESH_TOKEN")
        }
        let session = token.session
        var user = try require(try transaction.user(session.uid), "USER_NOT_FOUND")
        try require(!user.isDisabled, "USER_DISABLED")
        try require(token.issuedAt >= user.validSince ?? 0, "TOKEN_EXPIRED")
        if let supersededAt = token.supersededAt, transaction.seconds > supersededAt + Self.successionGrace {
            try transaction.endFamily(token.family, of: user.uid)
            return .failure(IdentityToolkitError("TOKEN_EXPIRED"))
        }
        // The client has its successor now.
        if let predecessor = token.predecessor {
            if var old = try transaction.refreshToken(predecessor) {
                old.supersededAt = old.supersededAt ?? transaction.seconds
                transaction.update(old, hash: predecessor)
            }
            token.predecessor = nil
            transaction.update(token, hash: hash)
        }
        var newest = text
        if !token.origin.isEmpty, token.origin != origin {
            newest = session.uid + "." + Secrets.text()
            try transaction.insert(
                RefreshToken(
                    session: session, issuedAt: token.issuedAt, family: token.family, origin: origin,
                    predecessor: hash),
                hash: Secrets.hash(newest))
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
