package import DocumentModel

/// Reads from a request's `Authorization` header who sends it.
package struct PrincipalReader: Sendable {
    /// Verifies a token. A `DocumentError` that it throws becomes the response (`unavailable` if the keys can't be
    /// fetched); any other error means that the token is invalid.
    package typealias Verify = @Sendable (_ token: String) async throws -> Requester

    /// The sender of a token that needs no wait to be verified; nil for any other.
    package typealias Known = @Sendable (_ token: String) -> Requester?

    private let isDevelopment: Bool
    private let known: Known
    private let verify: Verify

    package init(isDevelopment: Bool, known: @escaping Known = { _ in nil }, verify: @escaping Verify) {
        self.isDevelopment = isDevelopment
        self.known = known
        self.verify = verify
    }

    /// The sender, if that takes no wait; nil if it may, or the token isn't valid.
    func known(_ authorization: String?) -> Requester? {
        guard let authorization else { return Requester(.client(nil)) }
        guard let token = Self.token(authorization) else { return nil }
        return token == "owner" && isDevelopment ? Requester(.admin) : known(token)
    }

    private static func token(_ authorization: String) -> String? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }

    /// - Parameter authorization: the header's value; nil if there is none, which means an unauthenticated client.
    /// - Throws: `unauthenticated` for anything but a valid token. `Bearer owner` is the admin in development, and an
    ///   invalid token in production.
    package func requester(_ authorization: String?) async throws(DocumentError) -> Requester {
        guard let authorization else { return Requester(.client(nil)) }
        guard let token = Self.token(authorization) else { throw Self.invalid }
        if token == "owner", isDevelopment { return Requester(.admin) }
        do {
            return try await verify(token)
        } catch let error as DocumentError {
            throw error
        } catch {
            throw Self.invalid
        }
    }

    private static let invalid = DocumentError(.unauthenticated, "the token is not valid")
}
