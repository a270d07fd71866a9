/// The header `Authorization` with a bearer token (RFC 6750).
package enum BearerToken {
    /// The token in the header's value; nil if there is none, or for another scheme.
    package static func of(_ authorization: String) -> Substring? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return parts[1]
    }

    /// Whether a token is one of Google's access tokens, which Google alone can verify.
    package static func isGoogleAccessToken(_ token: some StringProtocol) -> Bool { token.hasPrefix("ya29.") }
}
