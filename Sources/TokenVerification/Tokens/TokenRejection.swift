/// Why a token is invalid.
///
/// For the log only: callers just get UNAUTHENTICATED. No reason contains any part of the token.
package enum TokenRejection: String, Error, Hashable, Sendable, CaseIterable {
    case oversized = "the token is larger than 16 KiB"
    case malformed = "the text is not a JSON Web Token"
    case customToken = "this is a custom token; sign in with it and send the resulting ID token"
    case unsigned = "the token is unsigned; unsigned tokens are accepted in development only"
    case algorithm = "the token is not signed with RS256"
    case noKeyID = "the token has no key id (kid)"
    case unknownKey = "the token's issuer doesn't publish a key with its key id (kid)"
    case signature = "the token's signature is invalid"
    case audience = "the token was issued for another project (aud)"
    case issuer = "the token was issued by another issuer (iss)"
    case subject = "the token's subject (sub) is missing, empty or longer than 128 characters"
    case app = "the token's app isn't in appCheck.apps of functions.json"
    case expired = "the token has expired (exp)"
    case issuedInFuture = "the token's time of issue (iat) is missing or in the future"
    case authenticatedInFuture = "the token's time of sign-in (auth_time) is missing or in the future"

    /// A sentence for the log.
    package var message: String { rawValue }
}
