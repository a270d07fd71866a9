package import DocumentModel

/// Reads the principal from a request's `Authorization` header.
package struct PrincipalReader: Sendable {
    /// Verifies an ID token. A `DocumentError` that it throws becomes the response (`unavailable` if the keys can't be
    /// fetched); any other error means that the token is invalid.
    package typealias Verify = @Sendable (_ token: String) async throws -> ClientIdentity

    private let isDevelopment: Bool
    private let verify: Verify

    package init(isDevelopment: Bool, verify: @escaping Verify) {
        self.isDevelopment = isDevelopment
        self.verify = verify
    }

    /// - Parameter authorization: the header's value; nil if there is none, which means an unauthenticated client.
    /// - Throws: `unauthenticated` for anything but a valid token. `Bearer owner` is the admin in development, and an
    ///   invalid token in production.
    package func principal(_ authorization: String?) async throws(DocumentError) -> Principal {
        guard let authorization else { return .client(nil) }
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw Self.invalid }
        if parts[1] == "owner", isDevelopment { return .admin }
        do {
            return .client(try await verify(String(parts[1])))
        } catch let error as DocumentError {
            throw error
        } catch {
            throw Self.invalid
        }
    }

    private static let invalid = DocumentError(.unauthenticated, "the ID token is not valid")
}

extension Principal {
    /// When the client's token is no longer valid; nil for never.
    var expires: Timestamp? { if case .client(let client) = self { client?.expires } else { nil } }
}
