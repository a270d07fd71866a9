package import NIOCore

/// The content of a token that has been verified.
package struct VerifiedToken: Hashable, Sendable {
    /// `sub`: the user's id for an ID token, the app's id for App Check.
    package var subject: String
    /// The payload as JSON, exactly as the issuer wrote it. Its storage is shared with the cache.
    package var claims: ByteBuffer
    /// `exp`, seconds since 1970; `Int64.max` for one that development accepts for ever.
    package var expires: Int64

    package init(subject: String, claims: ByteBuffer, expires: Int64) {
        self.subject = subject
        self.claims = claims
        self.expires = expires
    }
}
