package import IdentityProvider
import StrictJSON
package import TokenVerification

/// The operations of the App Check service, independent of HTTP.
package struct AppCheckExchange: Sendable {
    /// The audience of the custom tokens that Google's admin libraries make for apps.
    static let audience =
        "https://firebaseappcheck.googleapis.com/google.firebase.appcheck.v1.TokenExchangeService"
    /// The lifetimes that a custom token may ask for, in seconds.
    private static let lifetimes: ClosedRange<Int64> = 1800...604_800

    private let issuer: AppCheckIssuer
    private let customTokens: CustomTokens
    private let verifier: TokenVerifier
    private let consumption: any TokenConsumption
    /// Whether a token is that of a server.
    private let isServer: @Sendable (Substring) -> Bool
    private let refused: @Sendable (_ app: String, _ reason: String) -> Void
    private let now: WallClock

    /// - Parameters:
    ///   - customTokens: verifies tokens that servers make for apps.
    ///   - verifier: of App Check tokens.
    ///   - refused: called with each app that gets no token, and why; for the log.
    package init(
        _ issuer: AppCheckIssuer, customTokens: CustomTokens, verifier: TokenVerifier,
        consumption: any TokenConsumption, isServer: @escaping @Sendable (Substring) -> Bool,
        refused: @escaping @Sendable (_ app: String, _ reason: String) -> Void = { _, _ in },
        now: @escaping WallClock = systemWallClock
    ) {
        self.issuer = issuer
        self.customTokens = customTokens
        self.verifier = verifier
        self.consumption = consumption
        self.isServer = isServer
        self.refused = refused
        self.now = now
    }

    /// The keys by which others verify tokens of this host: a JSON Web Key Set.
    var keys: JSONObject { PublishedKeys(keys: issuer.keys.published).webKeySet }

    /// - Parameter token: what the caller presents as an access token.
    func perform(
        _ route: AppCheckRoute, _ body: JSONValue, token: Substring?
    ) async throws(AppCheckError) -> JSONObject {
        switch route {
        case .debugToken(let project, let app): return try exchangeDebugToken(project, app, body)
        case .customToken(let project, let app): return try exchangeCustomToken(project, app, body)
        case .verification(let project):
            guard let token, isServer(token) else { throw .unauthenticated }
            guard issuer.isNamed(project) else { throw .notFound }
            return try await verify(body)
        case .keys: return keys
        }
    }

    // MARK: Issuing

    private func exchangeDebugToken(
        _ project: String, _ id: String, _ body: JSONValue
    ) throws(AppCheckError) -> JSONObject {
        guard let debugToken = Self.text("debugToken", "debug_token", in: body) else {
            throw .invalidArgument("debugToken is missing.")
        }
        let app = try app(project, id)
        guard app.has(debugToken: debugToken) else {
            refused(id, "the debug token isn't one of the app's")
            throw .attestationFailed
        }
        return try issue(to: id, app.lifetime, "debug", body)
    }

    private func exchangeCustomToken(
        _ project: String, _ id: String, _ body: JSONValue
    ) throws(AppCheckError) -> JSONObject {
        guard let text = Self.text("customToken", "custom_token", in: body) else {
            throw .invalidArgument("customToken is missing.")
        }
        let app = try app(project, id)
        let claims: JSONObject
        do throws(CustomTokenError) {
            claims = try customTokens.payload(of: text, audience: Self.audience, now: now())
        } catch {
            refused(id, error.reason)
            throw .attestationFailed
        }
        guard claims["app_id"]?.stringValue == id else {
            refused(id, "the custom token is for another app")
            throw .attestationFailed
        }
        var lifetime = app.lifetime
        if let ttl = claims["ttl"] {
            guard let text = ttl.stringValue, text.hasSuffix("s"), let seconds = Double(text.dropLast()),
                (Double(Self.lifetimes.lowerBound)...Double(Self.lifetimes.upperBound)).contains(seconds)
            else {
                throw .invalidArgument("ttl is a number of seconds from 1800s to 604800s.")
            }
            lifetime = Int64(seconds)
        }
        return try issue(to: id, lifetime, "custom", body)
    }

    private func app(_ project: String, _ id: String) throws(AppCheckError) -> AppCheckIssuer.App {
        guard issuer.isNamed(project), let app = issuer.app(id) else {
            refused(id, "appCheck.apps in functions.json doesn't have it")
            throw .notFound
        }
        return app
    }

    private func issue(
        to app: String, _ lifetime: Int64, _ provider: String, _ body: JSONValue
    ) throws(AppCheckError) -> JSONObject {
        let isLimited = (body["limitedUse"] ?? body["limited_use"])?.boolValue ?? false
        let lifetime = isLimited ? AppCheckIssuer.limitedLifetime : lifetime
        guard let token = try? issuer.token(for: app, lifetime: lifetime, provider: provider, now: now()) else {
            throw .internal
        }
        return ["token": .string(token), "ttl": .string("\(lifetime)s")]
    }

    // MARK: Verifying

    /// Verifies and consumes a token for a server.
    private func verify(_ body: JSONValue) async throws(AppCheckError) -> JSONObject {
        guard let token = Self.text("appCheckToken", "app_check_token", in: body) else {
            throw .invalidArgument("appCheckToken is missing.")
        }
        let expires: Int64
        switch await verifier.verifyAfterFetch(token) {
        case .valid(let verified): expires = verified.expires
        case .invalid(let rejection): throw .invalidArgument("The App Check token is invalid: \(rejection.message).")
        case .needsKeys, .unavailable: throw .unavailable
        }
        let wasConsumed = await withCheckedContinuation { continuation in
            consumption.consume(token, expires: expires) { continuation.resume(returning: $0) }
        }
        guard let wasConsumed else { throw .unavailable }
        return wasConsumed ? ["alreadyConsumed": true] : [:]
    }

    private static func text(_ name: String, _ snakeName: String, in body: JSONValue) -> String? {
        (body[name] ?? body[snakeName])?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    }
}
