package import NIOCore

/// What a token says, once it is known to be true.
package struct VerifiedToken: Hashable, Sendable {
    /// `sub`: the user's id for an ID token, the app's id for App Check.
    package var subject: String
    /// The payload, JSON, as the issuer wrote it. Shared with the cache; reading copies nothing.
    package var claims: ByteBuffer
    /// `exp`, seconds since 1970.
    package var expires: Int64

    package init(subject: String, claims: ByteBuffer, expires: Int64) {
        self.subject = subject
        self.claims = claims
        self.expires = expires
    }
}
