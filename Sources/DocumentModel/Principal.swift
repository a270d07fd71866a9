/// Who asks for documents.
package enum Principal: Hashable, Sendable {
    /// May do everything: a function, or a tool in development.
    case admin
    /// A client: what it may do is decided by the access rules.
    case client(ClientIdentity?)
}

/// A signed-in user, as a verified ID token says.
package struct ClientIdentity: Hashable, Sendable {
    package var uid: String
    /// The token's claims, which rules can ask for.
    package var claims: [String: Value]
    /// When the token is no longer valid; nil for never.
    package var expires: Timestamp?

    package init(uid: String, claims: [String: Value] = [:], expires: Timestamp? = nil) {
        self.uid = uid
        self.claims = claims
        self.expires = expires
    }
}
