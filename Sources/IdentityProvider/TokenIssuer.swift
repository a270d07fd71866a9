import TokenVerification
import Foundation

/// Issues the ID tokens of local sign-in.
struct TokenIssuer: Sendable {
    let project: String
    let key: SigningKey

    /// The lifetime of a token in seconds.
    static let lifetime: Int64 = 3600

    /// Issues a token for a user without credentials, with the claims of Firebase's tokens.
    ///
    /// - Parameters:
    ///   - signedInAt: When the user signed in, in seconds since 1970; a refresh doesn't change it.
    ///   - now: Seconds since 1970.
    func idToken(for user: UserRecord, signedInAt: Int64, now: Int64) throws -> String {
        try key.sign(
            claims: JSONEncoder().encode(
                Claims(
                    iss: TokenKind.issuer(of: project), aud: project, auth_time: signedInAt, user_id: user.localId,
                    sub: user.localId, iat: now, exp: now + Self.lifetime)))
    }

    private struct Claims: Encodable {
        var provider_id = "anonymous"
        var iss: String
        var aud: String
        var auth_time: Int64
        var user_id: String
        var sub: String
        var iat: Int64
        var exp: Int64
        var firebase = Firebase()

        struct Firebase: Encodable {
            var identities: [String: [String]] = [:]
            var sign_in_provider = "anonymous"
        }
    }
}
