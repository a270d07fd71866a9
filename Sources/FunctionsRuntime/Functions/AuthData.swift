import NIOCore
public import StrictJSON
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

/// A token's claims, decoded when a handler first reads them: most handlers only need the uid.
struct LazyClaims: Sendable {
    private let bytes: ByteBuffer

    init(_ bytes: ByteBuffer) { self.bytes = bytes }

    /// The claims; an empty object if they aren't JSON, which the host never sends.
    var value: JSONValue { (try? JSONValue(parsing: Array(bytes.readableBytesView))) ?? .object([:]) }
}
