package import WorkerProtocol

/// The calling user: the claims of an ID token that the host has verified.
public struct AuthData: Sendable {
    /// The user's id.
    public let uid: String
    private let claims: LazyClaims

    package init(_ identity: InvocationHead.VerifiedIdentity) {
        uid = identity.id
        claims = LazyClaims(identity.claims)
    }

    /// All claims of the token, including custom ones.
    public var token: JSONValue { claims.value }
}

/// The calling app: the claims of an App Check token that the host has verified.
public struct AppCheckData: Sendable {
    /// The app's id.
    public let appID: String
    /// Whether an earlier call consumed the token. Always false without the option `consumeAppCheckToken`.
    public let alreadyConsumed: Bool
    private let claims: LazyClaims

    package init(_ identity: InvocationHead.VerifiedIdentity, alreadyConsumed: Bool) {
        self.alreadyConsumed = alreadyConsumed
        appID = identity.id
        claims = LazyClaims(identity.claims)
    }

    /// All claims of the token.
    public var token: JSONValue { claims.value }
}
