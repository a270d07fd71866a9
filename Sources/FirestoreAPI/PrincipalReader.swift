package import DocumentModel

/// Reads from a request's `Authorization` header who sends it.
package struct PrincipalReader: Sendable {
    /// Verifies a token. A `DocumentError` that it throws becomes the response (`unavailable` if the keys can't be
    /// fetched); any other error means that the token is invalid.
    package typealias Verify = @Sendable (_ token: String) async throws -> Requester

    private let isDevelopment: Bool
    private let verify: Verify

    package init(isDevelopment: Bool, verify: @escaping Verify) {
        self.isDevelopment = isDevelopment
        self.verify = verify
    }

    /// - Parameter authorization: the header's value; nil if there is none, which means an unauthenticated client.
    /// - Throws: `unauthenticated` for anything but a valid token. `Bearer owner` is the admin in development, and an
    ///   invalid token in production.
    package func requester(_ authorization: String?) async throws(DocumentError) -> Requester {
        guard let authorization else { return Requester(.client(nil)) }
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw Self.invalid }
        if parts[1] == "owner", isDevelopment { return Requester(.admin) }
        do {
            return try await verify(String(parts[1]))
        } catch let error as DocumentError {
            throw error
        } catch {
            throw Self.invalid
        }
    }

    private static let invalid = DocumentError(.unauthenticated, "the token is not valid")
}
