package import TokenVerification
import NIOCore

/// Verifies what servers present as access tokens, and issues them.
///
/// An access token costs an HMAC. One that a server has signed itself costs an RSA verification at first, and then a hash
/// and a comparison. Revocation is seen at once: a token's key is looked up each time.
package final class ServerTokens: Sendable {
    /// A server's token that was verified.
    package struct Verified: Hashable, Sendable {
        package var keyID: String
        /// Seconds since 1970.
        package var expires: Int64
    }

    private let store: ServiceAccountStore
    private let project: String
    private let now: WallClock
    /// Of tokens that servers have signed; the subject is the key's id.
    private let cache = VerifiedTokenCache()

    package init(_ store: ServiceAccountStore, project: String, now: @escaping WallClock = systemWallClock) {
        self.store = store
        self.project = project
        self.now = now
    }

    /// - Parameter token: the text after `Bearer `.
    /// - Returns: nil if it is not a valid token of a server whose key is kept. It may be a user's.
    package func verify(_ token: some StringProtocol) -> Verified? {
        guard !store.isEmpty else { return nil }
        if let known = known(token) { return known }
        var text = Substring(token)
        let now = now()
        return text.withUTF8 { text in
            guard let read = try? ServerAssertion(text, for: .access, now: now, entries: store.entries(of:id:))
            else { return nil }
            cache.store(VerifiedToken(subject: read.keyID, claims: ByteBuffer(), expires: read.expires), for: text)
            return Verified(keyID: read.keyID, expires: read.expires)
        }
    }

    /// The same without an RSA verification, for a look before the token is taken for a user's: finds access tokens, and
    /// others that were verified before.
    package func known(_ token: some StringProtocol) -> Verified? {
        guard !store.isEmpty else { return nil }
        let now = now()
        if token.hasPrefix(AccessTokenSecret.prefix) {
            guard let (keyID, expires) = store.secret.read(String(token), project: project), expires > now,
                store.contains(keyID)
            else { return nil }
            return Verified(keyID: keyID, expires: expires)
        }
        var text = Substring(token)
        return text.withUTF8 { text in
            guard let known = cache.token(for: text, now: now), store.contains(known.subject) else { return nil }
            return Verified(keyID: known.subject, expires: known.expires)
        }
    }

    /// Whether a key is no longer accepted.
    package func isRevoked(_ keyID: String) -> Bool { !store.contains(keyID) }

    /// Exchanges an assertion for an access token.
    func exchange(_ assertion: String) throws(ServerAssertion.Refusal) -> String {
        var assertion = assertion
        let now = now()
        let read: Result<ServerAssertion, ServerAssertion.Refusal> = assertion.withUTF8 { text in
            Result { () throws(ServerAssertion.Refusal) in
                try ServerAssertion(text, for: .grant, now: now, entries: store.entries(of:id:))
            }
        }
        return store.secret.issue(for: try read.get().keyID, project: project, now: now)
    }
}
