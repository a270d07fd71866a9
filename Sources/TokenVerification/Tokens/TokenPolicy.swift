/// How tokens are accepted in each of the host's two modes.
///
/// Nothing but this value decides whether unsigned tokens are accepted, and `production` never accepts one.
package enum TokenPolicy: Hashable, Sendable {
    /// Accepts only tokens with a valid signature.
    case production
    /// Also accepts the emulator's tokens: `alg: none` with an empty signature. They expire like others, except those
    /// of the JS SDK's `mockUserToken`, which have `iat: 0`; their project, issuer and subject are checked.
    case development

    var acceptsUnsignedTokens: Bool { self == .development }
}
