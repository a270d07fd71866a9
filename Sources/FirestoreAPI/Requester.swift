package import DocumentModel

/// Who sends a request, and how long its token is good for.
package struct Requester: Sendable {
    package let principal: Principal
    /// When the token expires; nil for never.
    package let expires: Timestamp?
    /// Whether the key of a server's token was revoked meanwhile; nil if the token's key can't be.
    private let isRevoked: (@Sendable () -> Bool)?

    package init(_ principal: Principal) {
        self.principal = principal
        expires = if case .client(let client) = principal { client?.expires } else { nil }
        isRevoked = nil
    }

    /// A server with an access token, which is the admin.
    package init(serverUntil expires: Timestamp, isRevoked: @escaping @Sendable () -> Bool) {
        principal = .admin
        self.expires = expires
        self.isRevoked = isRevoked
    }

    /// Whether the token may end before it expires.
    var isRevocable: Bool { isRevoked != nil }

    /// - Throws: `unauthenticated` if the token is no longer valid. A stream checks again what was checked at its start.
    func check(at now: Timestamp = .wallClock()) throws(DocumentError) {
        if let expires, expires <= now { throw Self.expired }
        if isRevoked?() ?? false { throw DocumentError(.unauthenticated, "the key of the token has been revoked") }
    }

    static let expired = DocumentError(.unauthenticated, "the token has expired")
}
