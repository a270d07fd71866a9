import DocumentModel
import Logging
import OutboundHTTP
import StrictJSON
import Synchronization
import TokenVerification
import UserStore

/// The identity providers whose assertions are accepted: those of functions.json, and those that admins have added.
package final class IdentityProviders: Sendable {
    private let isDevelopment: Bool
    private let configured: [String: ProviderConfig]
    private let users: UserStore
    private let transport: any OutboundTransport
    private let logger: Logger
    private let now: WallClock
    /// By issuer.
    private let keys = Mutex<[String: IssuerKeys]>([:])
    private let documents: IssuerDocuments

    private let presented = PresentedTokens()
    /// Those whose accounts could not be linked.
    private let unlinked = PresentedTokens()

    private static let settingPrefix = "provider "
    private static let limits = OutboundLimits(maxBytes: 256 << 10, silence: .seconds(10), whole: .seconds(20))

    /// - Parameter isDevelopment: accepts unsigned claims too, as the emulator does.
    init(
        _ configured: [ProviderConfig], isDevelopment: Bool, users: UserStore, transport: any OutboundTransport,
        logger: Logger, now: @escaping WallClock
    ) {
        self.configured = Dictionary(configured.map { ($0.id, $0) }) { first, _ in first }
        self.isDevelopment = isDevelopment
        self.users = users
        self.transport = transport
        self.logger = logger
        self.now = now
        documents = IssuerDocuments(transport: transport, now: now)
    }

    /// What the provider says of the user, once the assertion is verified.
    ///
    /// - Parameters:
    ///   - assertion: gets the tokens for its code.
    ///   - isLinking: whether the account is to be linked to a user who is signed in. Clients do that with the token of a
    ///     sign-in that was refused, because its address has another account, and no longer have its nonce.
    ///   - handler: this host's page, which providers send browsers to.
    func profile(
        _ assertion: inout ProviderAssertion, isLinking: Bool, from address: String, handler: String
    ) async throws -> ProviderProfile {
        if isDevelopment, let claims = try unverifiedClaims(assertion) { return try ProviderProfile(claims: claims) }
        guard let config = try await config(assertion.provider), config.isEnabled else {
            if isDevelopment { throw Self.needsToken(assertion) }
            throw IdentityToolkitError(
                "OPERATION_NOT_ALLOWED : The identity provider configuration is not found.")
        }
        let isExchanged = try await exchange(&assertion, config, handler)
        let time = now()
        let hash = Self.hash(of: assertion, from: address)
        /// Whether the client has got the token from this host, or presented it with its nonce, a short while ago.
        let isKnown = assertion.nonce == nil && (isLinking ? presented : unlinked).take(hash, at: time)
        func remember() { if isExchanged || assertion.nonce != nil { presented.add(hash, at: time) } }
        switch config.check {
        case .openID(let issuer, let clientIDs):
            let text = try require(
                assertion.idToken, "INVALID_IDP_RESPONSE : Sign-in with \(config.id) needs an id_token.")
            // Who has the secret could sign tokens for anyone: those that clients bring aren't verified by it.
            let verified = try await OpenIDToken(
                verifying: text, issuer: issuer, clientIDs: clientIDs, nonce: assertion.nonce, isKnown: isKnown,
                keys: keys(of: issuer), clientSecret: isExchanged || isKnown ? config.clientSecret : nil, now: time)
            remember()
            return try ProviderProfile(
                claims: isExchanged
                    ? try await claims(verified.claims, of: issuer, with: assertion.accessToken) : verified.claims)
        case .profile(let addresses):
            let token = try require(
                assertion.accessToken, "INVALID_IDP_RESPONSE : Sign-in with \(config.id) needs an access_token.")
            if let address = addresses.app, let appID = addresses.appID {
                let app = try await fetch(address, token)
                try require(
                    app["id"].flatMap(Self.text) == appID,
                    "INVALID_IDP_RESPONSE : The access_token was issued for another app.")
            } else {
                // The app of a token that the client brings isn't known.
                try require(
                    isExchanged || isKnown || !config.usesCode,
                    "INVALID_IDP_RESPONSE : Sign-in with \(config.id) needs a code: its access tokens don't tell for whom."
                )
            }
            let profile = try await fetch(addresses.profile, token)
            remember()
            return try ProviderProfile(claims: Self.openID(profile))
        }
    }

    /// Lets a client whose account could not be linked, because another user has it, sign in as that user. It no longer
    /// has the token's nonce.
    func expectSignIn(with assertion: ProviderAssertion, from address: String) {
        unlinked.add(Self.hash(of: assertion, from: address), at: now())
    }

    private static func hash(of assertion: ProviderAssertion, from address: String) -> [UInt8] {
        Secrets.hash("\(address) \(assertion.idToken ?? assertion.accessToken ?? "")")
    }

    /// Gets the tokens for the code of an assertion, if it has nothing better.
    ///
    /// - Returns: whether it had a code, so that its tokens are for this client.
    private func exchange(
        _ assertion: inout ProviderAssertion, _ config: ProviderConfig, _ handler: String
    ) async throws -> Bool {
        guard config.usesCode, let secret = config.clientSecret, let code = assertion.code, assertion.idToken == nil,
            assertion.accessToken == nil
        else { return false }
        // A code that the provider sent elsewhere may be another user's.
        try require(
            assertion.page == handler, "INVALID_IDP_RESPONSE : Codes are for the page \(handler), not for requestUri.")
        let exchange: CodeExchange?
        switch config.check {
        case .openID(let issuer, let clientIDs):
            let document: DiscoveryDocument
            do { document = try await documents.document(of: issuer) } catch { throw IdentityToolkitError.unavailable }
            exchange = document.tokenAddress.map {
                CodeExchange(
                    provider: config.id, address: $0, clientID: clientIDs.first ?? "", clientSecret: secret,
                    places: CodeExchange.SecretPlace.places(document.secretMethods), logger: logger)
            }
        case .profile(let addresses):
            exchange = addresses.token.map {
                CodeExchange(
                    provider: config.id, address: $0, clientID: addresses.appID ?? "", clientSecret: secret,
                    places: [.form], logger: logger)
            }
        }
        let tokens = try await require(
            exchange, "INVALID_IDP_RESPONSE : \(config.id) has no token endpoint."
        ).tokens(for: code, redirectAddress: handler, verifier: assertion.codeVerifier, by: transport)
        (assertion.idToken, assertion.accessToken) = (tokens.idToken, tokens.accessToken)
        (assertion.refreshToken, assertion.expiresIn) = (tokens.refreshToken, tokens.expiresIn)
        return true
    }

    /// The claims of an ID token, with those that the issuer gives at its profile address alone (OpenID Connect Core,
    /// section 5.4: it may leave out of the token what an access token can ask for).
    private func claims(
        _ claims: JSONObject, of issuer: String, with accessToken: String?
    ) async throws -> JSONObject {
        guard let accessToken, claims["email"] == nil || claims["name"] == nil,
            let address = try? await documents.document(of: issuer).profileAddress
        else { return claims }
        let profile: JSONObject
        do {
            profile = try await fetch(address, accessToken)
        } catch let error as IdentityToolkitError where !error.mayPass {
            // Such as for an access token with the app's own scopes, which is for another API.
            logger.debug("a provider refuses to describe a user", metadata: ["auth.issuer": "\(issuer)"])
            return claims
        }
        // Section 5.3.2: else the profile isn't this user's.
        guard profile["sub"] == claims["sub"] else { return claims }
        var all = claims
        for (name, value) in profile where claims[name] == nil { all[name] = value }
        // Whether an address is verified is said of the one that stands beside it.
        if claims["email"] == nil {
            all["email_verified"] = profile["email_verified"]
        } else if claims["email"] != profile["email"] {
            all["email_verified"] = claims["email_verified"]
        }
        return all
    }

    // MARK: Development

    private func unverifiedClaims(_ assertion: ProviderAssertion) throws(IdentityToolkitError) -> JSONObject? {
        if let text = assertion.idToken {
            return try require(
                Self.unverifiedClaims(text),
                "INVALID_IDP_RESPONSE : Unable to parse id_token ((strict JSON or a JWT is expected.))")
        }
        return assertion.accessToken.flatMap(Self.unverifiedClaims)
    }

    /// The claims of a JWT whose signature isn't checked, or JSON in place of one.
    private static func unverifiedClaims(_ text: String) -> JSONObject? {
        if text.hasPrefix("{") { return (try? JSONValue(parsing: Array(text.utf8)))?.objectValue }
        var text = text
        let payload = text.withUTF8 { try? JSONWebToken($0).payload }
        return payload.flatMap { try? JSONValue(parsing: $0) }?.objectValue
    }

    private static func needsToken(_ assertion: ProviderAssertion) -> IdentityToolkitError {
        .notSupported(
            assertion.accessToken == nil
                ? "Sign-in with \(assertion.provider) needs an id_token."
                : "The access token of \(assertion.provider) can't be checked: send an id_token, or configure the provider."
        )
    }

    // MARK: Asking providers

    private func keys(of issuer: String) -> IssuerKeys {
        keys.withLock { keys in
            if let known = keys[issuer] { return known }
            let new = IssuerKeys(issuer: issuer, transport: transport, now: now)
            keys[issuer] = new
            return new
        }
    }

    /// Where users sign in with a browser; nil if the provider has no such address.
    ///
    /// - Throws: `KeySourceError` if the provider can't be asked.
    func authorizationAddress(of config: ProviderConfig) async throws(KeySourceError) -> String? {
        switch config.check {
        case .profile(let addresses): return addresses.authorization
        case .openID(let issuer, _): return try await documents.document(of: issuer).authorizationAddress
        }
    }

    private func fetch(_ address: String, _ token: String) async throws -> JSONObject {
        let response: OutboundResponse
        do throws(OutboundError) {
            response = try await transport.send(
                OutboundRequest(
                    to: address, headers: ["Authorization": "Bearer \(token)", "Accept": "application/json"],
                    limits: Self.limits))
        } catch {
            throw IdentityToolkitError.unavailable
        }
        // A provider that has too many requests of this host refuses no token.
        guard response.status < 500, response.status != 429 else { throw IdentityToolkitError.unavailable }
        guard response.status == 200, let answer = (try? JSONValue(parsing: response.body))?.objectValue else {
            throw IdentityToolkitError("INVALID_IDP_RESPONSE : The provider doesn't accept the access_token.")
        }
        return answer
    }

    /// A profile in the names of OpenID Connect, whichever of the usual names the provider has.
    private static func openID(_ profile: JSONObject) -> JSONObject {
        var claims = profile
        claims["sub"] = (profile["sub"] ?? profile["id"]).flatMap(text).map(JSONValue.string)
        claims["name"] = profile["name"] ?? profile["display_name"]
        claims["given_name"] = profile["given_name"] ?? profile["first_name"]
        claims["family_name"] = profile["family_name"] ?? profile["last_name"]
        // Facebook nests it.
        let picture = profile["picture"]?["data"]?["url"] ?? profile["picture"] ?? profile["avatar_url"]
        claims["picture"] = picture?.stringValue.map(JSONValue.string)
        return claims
    }

    private static func text(_ value: JSONValue) -> String? {
        value.stringValue ?? value.intValue.map { String($0) }
    }

    // MARK: Configs

    func config(_ id: String) async throws -> ProviderConfig? {
        if let config = configured[id] { return config }
        return try await users.read { try Self.read(id, from: $0) }
    }

    private static func read(_ id: String, from reader: some UserReader) throws -> ProviderConfig? {
        guard let stored = try reader.setting(settingPrefix + id) else { return nil }
        guard let config = decoded(id, stored) else {
            throw DocumentError(.dataLoss, "the config of the provider \(id) can't be read, the store is damaged")
        }
        return config
    }

    /// Nil if it is damaged.
    private static func decoded(_ id: String, _ stored: [UInt8]) -> ProviderConfig? {
        guard let fields = try? SignInRequest(json: stored) else { return nil }
        return try? ProviderConfig(id: id, fields)
    }

    func create(_ call: SignInCall, project: String) async throws -> JSONObject {
        let id = try require(call.query["oauthIdpConfigId"], "MISSING_OAUTH_CLIENT_ID : oauthIdpConfigId is missing.")
        // A sign-in finds its provider in lower case, however the client writes it.
        let found = id.lowercased()
        try require(id == found, "INVALID_OAUTH_CLIENT_ID : The id of a provider is in lower case: \(found).")
        let config = try ProviderConfig(id: id, call.fields)
        try await users.commit { transaction in
            let isNew = try transaction.setting(Self.settingPrefix + id) == nil
            try require(isNew, "DUPLICATE_CONFIGURATION : \(id) exists.")
            try Self.store(config, in: transaction)
        }
        return config.json(of: project)
    }

    func update(_ id: String, _ call: SignInCall, project: String) async throws -> JSONObject {
        let mask = call.query["updateMask"].map { $0.split(separator: ",").map(String.init) }
        let fields = call.fields
        let config = try await users.commit { transaction in
            let old = try require(try Self.read(id, from: transaction), "CONFIGURATION_NOT_FOUND")
            let config = try ProviderConfig(id: id, fields, over: old, mask: mask)
            try Self.store(config, in: transaction)
            return config
        }
        return config.json(of: project)
    }

    func get(_ id: String, project: String) async throws -> JSONObject {
        try require(try await users.read { try Self.read(id, from: $0) }, "CONFIGURATION_NOT_FOUND").json(of: project)
    }

    func delete(_ id: String) async throws -> JSONObject {
        try await users.commit { transaction in
            // One that can't be read can be deleted, and created again.
            let exists = try transaction.setting(Self.settingPrefix + id) != nil
            try require(exists, "CONFIGURATION_NOT_FOUND")
            transaction.set(Self.settingPrefix + id, to: nil)
        }
        return [:]
    }

    /// A page of the configs that admins have added, by id. Those that can't be read are left out, and the log names
    /// them.
    func list(_ call: SignInCall, project: String) async throws -> JSONObject {
        let limit = min(max(call.query["pageSize"].flatMap(Int.init) ?? 100, 1), 100)
        // Firebase's library for Java writes the second.
        let last = call.query["pageToken"] ?? call.query["nextPageToken"] ?? ""
        let stored = try await users.read { try $0.settings(startingWith: Self.settingPrefix) }
        var page: [ProviderConfig] = []
        var answer: JSONObject = [:]
        for (name, value) in stored {
            let id = String(name.dropFirst(Self.settingPrefix.count))
            guard id > last else { continue }
            guard page.count < limit else {
                answer["nextPageToken"] = page.last.map { JSONValue.string($0.id) }
                break
            }
            guard let config = Self.decoded(id, value) else {
                logger.error(
                    "the config of a provider can't be read; delete it and create it again",
                    metadata: ["provider": "\(id)"])
                continue
            }
            page.append(config)
        }
        if !page.isEmpty { answer["oauthIdpConfigs"] = .array(page.map { .object($0.json(of: project)) }) }
        return answer
    }

    private static func store(_ config: ProviderConfig, in transaction: UserTransaction) throws {
        transaction.set(
            settingPrefix + config.id, to: try JSONValue.object(config.json(of: "")).serialized())
    }
}

/// The ID tokens that were presented with their nonces a short while ago, by their hashes. Each may come once more.
private final class PresentedTokens: Sendable {
    private static let lifetime: Int64 = 600
    private static let places = 10_000

    /// When each was presented.
    private let times = Mutex<[[UInt8]: Int64]>([:])

    func add(_ hash: [UInt8], at time: Int64) {
        times.withLock { times in
            if times.count >= Self.places { times = times.filter { $0.value > time - Self.lifetime } }
            // Beyond that a client has to sign in with the provider again.
            if times.count < Self.places { times[hash] = time }
        }
    }

    func take(_ hash: [UInt8], at time: Int64) -> Bool {
        times.withLock { $0.removeValue(forKey: hash).map { $0 > time - Self.lifetime } ?? false }
    }
}
