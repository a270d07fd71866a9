import StrictJSON
import TokenVerification

/// The identity providers whose assertions are accepted.
package struct IdentityProviders: Sendable {
    private let isDevelopment: Bool

    /// - Parameter isDevelopment: accepts unsigned claims, as the emulator does.
    package init(isDevelopment: Bool) { self.isDevelopment = isDevelopment }

    func profile(_ assertion: ProviderAssertion) async throws -> ProviderProfile {
        guard isDevelopment else {
            throw IdentityToolkitError(
                "OPERATION_NOT_ALLOWED : The identity provider configuration is not found.")
        }
        let idToken = try assertion.idToken.map { text throws(IdentityToolkitError) in
            try require(
                Self.unverifiedClaims(text),
                "INVALID_IDP_RESPONSE : Unable to parse id_token ((strict JSON or a JWT is expected.))")
        }
        if let claims = idToken ?? assertion.accessToken.flatMap(Self.unverifiedClaims) {
            return try ProviderProfile(claims: claims)
        }
        throw IdentityToolkitError.notSupported(
            assertion.accessToken == nil
                ? "Sign-in with \(assertion.provider) needs an id_token."
                : "The access token of \(assertion.provider) can't be checked in development: send an id_token.")
    }

    /// The claims of a JWT whose signature isn't checked, or JSON in place of one.
    private static func unverifiedClaims(_ text: String) -> JSONObject? {
        if text.hasPrefix("{") { return (try? JSONValue(parsing: Array(text.utf8)))?.objectValue }
        var text = text
        let payload = text.withUTF8 { try? JSONWebToken($0).payload }
        return payload.flatMap { try? JSONValue(parsing: $0) }?.objectValue
    }
}
