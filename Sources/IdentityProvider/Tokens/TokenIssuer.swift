import StrictJSON
import TextFormats
import TokenVerification
import UserStore

/// Issues ID tokens and session cookies.
struct TokenIssuer: Sendable {
    let project: String
    /// Sign the tokens; nil for the unsigned ones of development.
    let keys: SigningKeys?

    /// The lifetime of an ID token in seconds.
    static let lifetime: Int64 = 3600
    /// The member of `firebase` that tells which sign-ins of the user the token belongs to; none for the first.
    static let generation = "sign_in_generation"
    /// The maximum size of claims with a profile: in base64, with a header and the longest signature, such a token is read.
    private static let maxProfileBytes = JSONWebToken.maxBytes * 3 / 4 - 1024

    /// - Parameter now: Seconds since 1970.
    func idToken(of user: UserRecord, in session: SignInSession, now: Int64) throws -> String {
        var claims = IDTokenClaims.custom(user.claims)
        for (name, value) in IDTokenClaims.custom(session.claims) { claims[name] = value }
        // What identifies the user replaces claims of the same name.
        for name in IDTokenClaims.reserved { claims[name] = nil }
        if let email = user.email {
            claims["email"] = .string(email)
            claims["email_verified"] = .bool(user.isEmailVerified)
        }
        claims["phone_number"] = user.phoneNumber.map(JSONValue.string)
        if session.provider == "anonymous" { claims["provider_id"] = "anonymous" }
        // The clock may have been set back since.
        claims["auth_time"] = .integer(min(session.signedInAt, now))
        claims["user_id"] = .string(user.uid)
        claims["firebase"] = .object(Self.firebase(user, session))
        claims["iss"] = .string(TokenKind.issuer(of: project))
        claims["aud"] = .string(project)
        claims["sub"] = .string(user.uid)
        claims["iat"] = .integer(now)
        claims["exp"] = .integer(now + Self.lifetime)
        // Last: users write what they like into their profile, and none is to be shut out by a token that isn't read.
        for (name, text) in [("name", user.displayName), ("picture", user.photoURL)] {
            guard let text, claims[name] == nil else { continue }
            claims[name] = .string(text)
            if try JSONValue.object(claims).serialized().count > Self.maxProfileBytes { claims[name] = nil }
        }
        return try sign(claims)
    }

    /// A session cookie with the claims of an ID token.
    func sessionCookie(with claims: JSONObject, lifetime: Int64, now: Int64) throws -> String {
        var claims = claims
        claims["iss"] = .string("https://session.firebase.google.com/\(project)")
        claims["iat"] = .integer(now)
        claims["exp"] = .integer(now + lifetime)
        return try sign(claims)
    }

    /// Signs any claims as the project.
    func sign(_ claims: JSONObject) throws -> String {
        let payload = try JSONValue.object(claims).serialized()
        guard let keys else {
            return Base64URL.encode(#"{"alg":"none","typ":"JWT"}"#.utf8) + "." + Base64URL.encode(payload) + "."
        }
        return try keys.current.sign(claims: payload)
    }

    private static func firebase(_ user: UserRecord, _ session: SignInSession) -> JSONObject {
        var identities: JSONObject = [:]
        for identity in user.identities { identities[identity.provider] = [.string(identity.rawID)] }
        if let number = user.phoneNumber { identities["phone"] = [.string(number)] }
        if let email = user.email { identities["email"] = [.string(email)] }
        var firebase: JSONObject = [
            "identities": .object(identities), "sign_in_provider": .string(session.provider),
        ]
        if let factor = session.secondFactor {
            firebase["sign_in_second_factor"] = .string(factor.kind)
            firebase["second_factor_identifier"] = .string(factor.id)
        }
        if user.signInGeneration != 0 { firebase[Self.generation] = .integer(user.signInGeneration) }
        return firebase
    }
}

/// Which claims of ID tokens are whose.
enum IDTokenClaims {
    /// The claims that identify a user and a sign-in.
    static let reserved = [
        "email", "email_verified", "phone_number", "user_id", "provider_id", "auth_time", "firebase", "iss", "aud",
        "sub", "iat", "exp",
    ]

    /// The names that custom claims can't have.
    static let forbidden = [
        "iss", "aud", "sub", "iat", "exp", "nbf", "jti", "nonce", "azp", "acr", "amr", "cnf", "auth_time", "firebase",
        "at_hash", "c_hash",
    ]

    static let maxCharacters = 1000

    /// The stored custom claims.
    static func custom(_ text: String?) -> JSONObject {
        guard let text, let value = try? JSONValue(parsing: Array(text.utf8)) else { return [:] }
        return value.objectValue ?? [:]
    }

    /// Checks custom claims in the form in which they are sent and stored.
    static func check(_ text: String) throws(IdentityToolkitError) {
        try require(text.utf16.count <= maxCharacters, "CLAIMS_TOO_LARGE")
        let value = try require(try? JSONValue(parsing: Array(text.utf8)), "INVALID_CLAIMS")
        try check(try require(value.objectValue, "INVALID_CLAIMS"))
    }

    static func check(_ claims: JSONObject) throws(IdentityToolkitError) {
        for name in forbidden { try require(claims[name] == nil, "FORBIDDEN_CLAIM : \(name)") }
    }
}
