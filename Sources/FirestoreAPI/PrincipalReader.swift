package import DocumentModel
import Sharing
import TextFormats

/// Reads from a request's `Authorization` header who sends it.
package struct PrincipalReader: Sendable {
    /// Verifies a token. A `DocumentError` that it throws becomes the response (`unavailable` if the keys can't be
    /// fetched); any other error means that the token is invalid.
    package typealias Verify = @Sendable (_ token: String) async throws -> Requester

    /// The sender of a token that needs no wait to be verified; nil for any other.
    package typealias Known = @Sendable (_ token: String) -> Requester?

    /// What the port demands of clients' apps.
    package struct Apps: Sendable {
        /// Whether the app of an App Check token is served, if that takes no wait.
        package var admitsAtOnce: @Sendable (_ token: String?) -> Bool
        /// A `DocumentError` that it throws becomes the response.
        package var check: @Sendable (_ token: String?) async throws(DocumentError) -> Void

        package init(
            admitsAtOnce: @escaping @Sendable (_ token: String?) -> Bool,
            check: @escaping @Sendable (_ token: String?) async throws(DocumentError) -> Void
        ) {
            self.admitsAtOnce = admitsAtOnce
            self.check = check
        }
    }

    /// The name of the header with the App Check token, in lower case.
    static let appCheckHeader = "x-firebase-appcheck"

    private let isDevelopment: Bool
    private let known: Known
    private let verify: Verify
    private let apps: Apps?

    /// - Parameter apps: nil to demand nothing.
    package init(
        isDevelopment: Bool, apps: Apps? = nil, known: @escaping Known = { _ in nil }, verify: @escaping Verify
    ) {
        self.isDevelopment = isDevelopment
        self.apps = apps
        self.known = known
        self.verify = verify
    }

    /// The sender, if that takes no wait; nil if it may, or the token isn't valid.
    func known(_ authorization: String?, appCheck: String?) -> Requester? {
        let requester: Requester
        if let authorization {
            if isOwner(authorization) { return Requester(.admin) }
            guard let token = Self.token(authorization), let found = known(token) else { return nil }
            requester = found
        } else {
            requester = Requester(.client(nil))
        }
        guard let apps, case .client = requester.principal else { return requester }
        return apps.admitsAtOnce(appCheck) ? requester : nil
    }

    /// Whose memory a request takes; nil for a client without a valid token, or with one that isn't known yet.
    func holder(_ authorization: String?) -> MemoryBudget.Holder? {
        guard let authorization else { return nil }
        if isOwner(authorization) { return .host }
        return Self.token(authorization).flatMap { known($0)?.principal.holder }
    }

    /// Whether a request acts as the admin without a token of this host, as in development. As for the emulator, so does
    /// one with an access token of Google's, such as Node's library sends with `preferRest`.
    func isOwner(_ authorization: String) -> Bool {
        guard isDevelopment, let token = Self.token(authorization) else { return false }
        return token == "owner" || BearerToken.isGoogleAccessToken(token)
    }

    /// Why a page of another site isn't answered that acts as the owner.
    static let foreignOwner = DocumentError(
        .permissionDenied,
        "a page of another site can't be the owner; add its host to listen.hosts in functions.json if it is meant")

    private static func token(_ authorization: String) -> String? { BearerToken.of(authorization).map { String($0) } }

    /// - Parameters:
    ///   - authorization: the header's value; nil if there is none, which means an unauthenticated client.
    ///   - appCheck: the value of `X-Firebase-AppCheck`. Servers need none.
    /// - Throws: `unauthenticated` for anything but a valid token. `Bearer owner` is the admin in development, as is an
    ///   access token of Google's, and an invalid token in production.
    package func requester(_ authorization: String?, appCheck: String?) async throws(DocumentError) -> Requester {
        let requester = try await requester(authorization)
        if let apps, case .client = requester.principal { try await apps.check(appCheck) }
        return requester
    }

    private func requester(_ authorization: String?) async throws(DocumentError) -> Requester {
        guard let authorization else { return Requester(.client(nil)) }
        if isOwner(authorization) { return Requester(.admin) }
        guard let token = Self.token(authorization) else { throw Self.invalid }
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
