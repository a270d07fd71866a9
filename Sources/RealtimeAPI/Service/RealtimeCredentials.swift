package import StrictJSON
import TextFormats

/// Verifies what clients and servers identify themselves with.
///
/// Each function calls its completion once: at once if no key has to be fetched, otherwise later, on any thread.
package struct RealtimeCredentials: Sendable {
    /// A verified token's bearer, and when the token ends.
    package struct Bearer: Hashable, Sendable {
        package var principal: RealtimePrincipal
        /// Seconds since 1970; nil if it doesn't expire, as in development.
        package var until: Int64?
        /// The id of a server's key that has signed the token: once that is revoked, the token has ended.
        package var serverKey: String?

        package init(_ principal: RealtimePrincipal, until: Int64? = nil, serverKey: String? = nil) {
            self.principal = principal
            self.until = until
            self.serverKey = serverKey
        }
    }

    /// Whether an app may use the database.
    package enum AppAdmission: Hashable, Sendable {
        /// Until its token ends, in seconds since 1970; nil if no token is demanded of it.
        case admitted(until: Int64?)
        case refused
        /// The keys can't be fetched, so that it isn't known.
        case unavailable
    }

    package typealias AppVerification =
        @Sendable (_ token: String?, _ completion: @escaping @Sendable (AppAdmission) -> Void) -> Void

    package typealias Completion = @Sendable (Result<Bearer, RealtimeServiceError>) -> Void

    /// Verifies an ID token or an access token. The errors are `invalidToken`, `expiredToken` and `unavailable`.
    package var verify: @Sendable (_ token: String, _ completion: @escaping Completion) -> Void
    /// Verifies an app's App Check token; nil to demand none of apps. Admins need none.
    package var verifyApp: AppVerification?
    /// Whether a server's key was revoked. Asked from time to time for as long as its bearers are connected.
    package var isRevoked: @Sendable (_ serverKey: String) -> Bool = { _ in false }
    /// Whether the token `owner` is the admin's, and any access token of Google's.
    package var isDevelopment: Bool

    package init(
        isDevelopment: Bool,
        verifyApp: AppVerification? = nil,
        verify: @escaping @Sendable (_ token: String, _ completion: @escaping Completion) -> Void
    ) {
        self.verify = verify
        self.verifyApp = verifyApp
        self.isDevelopment = isDevelopment
    }

    /// - Parameters:
    ///   - override: what an admin acts as; nil for the admin. Only admins may have one.
    ///   - allowsOwner: false for pages of other sites, which could otherwise act as the developer, and for tokens in URLs.
    func bearer(
        of token: String, override: Override? = nil, allowsOwner: Bool, _ completion: @escaping Completion
    ) {
        // Emulators are sent Google's access tokens, too: by kreait/firebase-php, and by Node's firebase-admin, which gets
        // and sets rules with them.
        if isDevelopment, token == "owner" || BearerToken.isGoogleAccessToken(token) {
            guard allowsOwner else { return completion(.failure(.permissionDenied)) }
            return completion(.success(Bearer(override?.principal ?? .admin)))
        }
        guard let override else { return verify(token, completion) }
        verify(token) { result in
            completion(
                result.flatMap { bearer in
                    guard bearer.principal.isAdmin else { return .failure(.permissionDenied) }
                    return .success(Bearer(override.principal, until: bearer.until, serverKey: bearer.serverKey))
                })
        }
    }

    /// Whom an admin acts as.
    package enum Override: Hashable, Sendable {
        /// An unauthenticated client.
        case unauthenticated
        /// A client with an `auth` variable of any content.
        case variable(JSONValue)

        var principal: RealtimePrincipal {
            switch self {
            case .unauthenticated: .client(nil)
            case .variable(let variable): .client(RealtimeAuth(variable: variable))
            }
        }
    }
}
