/// How tokens are taken in one of the host's two modes.
///
/// Nothing but this value decides on unsigned tokens, and `production` has no way to accept one.
package enum TokenPolicy: Hashable, Sendable {
    /// Only tokens with a signature that fits.
    case production
    /// Also the emulator's: `alg: none` with an empty signature. Their times are not checked, since the JS SDK's
    /// `mockUserToken` writes `iat: 0, exp: 3600`; their project, issuer and subject are.
    case development

    var acceptsUnsignedTokens: Bool { self == .development }

    /// The `Authorization` value that makes a caller the admin; nil in production, where no text does.
    package var adminAuthorization: String? { self == .development ? "Bearer owner" : nil }
}
