/// Why a token is no good.
///
/// Meant for the log: a caller learns only that it is UNAUTHENTICATED. No reason holds anything of the token.
package enum TokenRejection: String, Error, Hashable, Sendable, CaseIterable {
    case oversized = "the token is larger than 16 KiB"
    case malformed = "the text is no JSON Web Token"
    case customToken = "this is a custom token; sign in with it first and send the ID token"
    case unsigned = "the token is unsigned, which only development accepts"
    case algorithm = "the token is not signed with RS256"
    case noKeyID = "the token names no key (kid)"
    case unknownKey = "the token names a key (kid) its issuer does not publish"
    case signature = "the signature does not fit"
    case audience = "the token was issued for another project (aud)"
    case issuer = "the token comes from another issuer (iss)"
    case subject = "the token's subject (sub) is missing, empty or longer than 128 characters"
    case expired = "the token has expired (exp)"
    case issuedInFuture = "the token's time of issue (iat) is missing or in the future"
    case authenticatedInFuture = "the token's time of sign-in (auth_time) is missing or in the future"

    /// A sentence for the log.
    package var message: String { rawValue }
}
