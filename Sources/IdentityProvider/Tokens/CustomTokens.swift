package import StrictJSON
package import TokenVerification

/// Why a custom token can't be accepted.
package struct CustomTokenError: Error, Hashable {
    /// A sentence for the developer; it has no part of the token.
    package var reason: String
}

/// Reads custom tokens, which server code signs with the key of a service account.
package struct CustomTokens: Sendable {
    package typealias Keys = @Sendable (_ issuer: String, _ keyID: String?) -> [PublicKey]

    /// Finds the public keys that a service account may have signed with, by its address and the id that the token
    /// names; nil to accept any signature, which only development does.
    private let keys: Keys?

    /// Accepts tokens whatever their signature and times, as the emulator does.
    package static let unverified = CustomTokens(keys: nil)

    /// - Parameter keys: gets no id of the tokens that Firebase's libraries for Node, Go and Java make.
    package init(keys: Keys?) { self.keys = keys }

    /// - Returns: the claims of a valid custom token for an audience.
    package func payload(of token: String, audience: String, now: Int64) throws(CustomTokenError) -> JSONObject {
        var text = token
        return try text.withUTF8 { bytes -> Result<JSONObject, CustomTokenError> in
            Result { () throws(CustomTokenError) in try payload(of: bytes, audience: audience, now: now) }
        }.get()
    }

    private func payload(
        of bytes: UnsafeBufferPointer<UInt8>, audience: String, now: Int64
    ) throws(CustomTokenError) -> JSONObject {
        guard let token = try? JSONWebToken(bytes),
            let payload = (try? JSONValue(parsing: token.payload))?.objectValue
        else { throw CustomTokenError(reason: "Invalid assertion format") }
        guard payload["aud"]?.stringValue == audience else {
            throw CustomTokenError(
                reason:
                    "The token's audience (aud) is not that of custom tokens. ID tokens can't be used in place of one.")
        }
        guard let keys else { return payload }
        let unknown = CustomTokenError(reason: "The token isn't signed by a key file of this host.")
        guard token.algorithm == "RS256", let issuer = payload["iss"]?.stringValue else { throw unknown }
        let found = keys(issuer, token.keyID)
        guard !found.isEmpty else { throw unknown }
        guard payload["sub"]?.stringValue == issuer else {
            throw CustomTokenError(reason: "The token's sub is not its iss.")
        }
        let signed = UnsafeBufferPointer(rebasing: bytes[..<token.signedCount])
        guard found.contains(where: { $0.isValid(token.signature, for: signed) }) else {
            throw CustomTokenError(reason: "The token's signature is invalid.")
        }
        // Some libraries write fractions, such as lcobucci/jwt.
        guard let issued = token.claims["iat"]?.seconds, let expires = token.claims["exp"]?.seconds,
            issued <= now + 300, expires > now, expires <= issued + 3600
        else { throw CustomTokenError(reason: "The token has expired, or its times are invalid.") }
        return payload
    }
}
