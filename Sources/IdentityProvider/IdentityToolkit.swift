package import Logging
import StrictJSON
import NIOCore
package import OutboundHTTP
package import TokenVerification
package import UserStore

/// The operations of sign-in, independent of HTTP: Identity Toolkit's, as client and admin SDKs call them.
///
/// What an operation decides on is read in the commit that changes it, so that two requests for one address, or one code,
/// can't both succeed.
package struct IdentityToolkit: Sendable {
    let project: String
    let isDevelopment: Bool
    let users: UserStore
    let issuer: TokenIssuer
    let verifier: TokenVerifier
    let passwords: PasswordHasher
    let attempts: AttemptGate
    let configuration: SignInConfiguration
    let codes: CodeDelivery
    let providers: IdentityProviders
    let blocking: any BlockingFunctions
    let customTokens: CustomTokens
    let logger: Logger
    let now: WallClock

    /// - Parameters:
    ///   - policy: `development` accepts unsigned tokens, and lists codes.
    ///   - keys: The keys that sign tokens; nil for unsigned tokens, which only development may issue.
    ///   - blocking: The functions that may refuse.
    ///   - delivery: How codes reach users; ``messageSender(logger:sleep:)`` uses it.
    ///   - transport: Reaches identity providers.
    ///   - logger: Receives the codes of development, what providers refuse, and which users can't be read.
    package init(
        users: UserStore, policy: TokenPolicy, keys: SigningKeys?, passwords: PasswordHasher,
        customTokens: CustomTokens, configuration: SignInConfiguration = SignInConfiguration(),
        blocking: any BlockingFunctions = NoBlockingFunctions(), delivery: MessageDelivery = MessageDelivery(),
        transport: any OutboundTransport = OutboundClient(), logger: Logger,
        now: @escaping WallClock = systemWallClock
    ) {
        project = users.project
        isDevelopment = policy == .development
        self.users = users
        self.passwords = passwords
        self.configuration = configuration
        self.logger = logger
        self.now = now
        issuer = TokenIssuer(project: users.project, keys: keys)
        // Only this host's tokens, and in development unsigned ones, identify its users.
        verifier = TokenVerifier(
            kind: .idToken(project: users.project), policy: policy, localKeys: keys?.verification ?? LocalKeys(),
            remoteKeys: nil, now: now)
        attempts = AttemptGate(
            perAccount: configuration.attemptsPerAccount,
            perAddress: policy == .development ? nil : configuration.attemptsPerAddress)
        self.customTokens = customTokens
        self.blocking = blocking
        providers = IdentityProviders(
            configuration.providers, isDevelopment: policy == .development, users: users, transport: transport,
            logger: logger, now: now)
        codes = CodeDelivery(
            isDevelopment: policy == .development, delivery: delivery,
            queue: MessageQueue(users: users, maxWaiting: delivery.maxWaiting, now: now), logger: logger)
    }

    /// The service that sends the mails and text messages which requests have queued. One must run, also without a way for
    /// messages: it gives up those that wait from before.
    package func messageSender(
        logger: Logger, sleep: @escaping MessageSender.Sleep = { try await Task.sleep(for: $0) }
    ) -> MessageSender {
        MessageSender(codes.queue, codes.delivery, logger: logger, sleep: sleep)
    }

    /// The keys of today, by which others verify tokens.
    var publicKeys: PublishedKeys { PublishedKeys(keys: issuer.keys?.published ?? []) }

    // MARK: The caller

    /// The user that an ID token names.
    struct Caller: Sendable {
        var uid: String
        /// `iat`, in seconds since 1970.
        var issuedAt: Int64
        /// `sign_in_provider`.
        var provider: String
        var signedInAt: Int64
        var signInGeneration: Int64
        var claims: JSONObject

        /// The second factor that was proved, if the user still has it.
        func secondFactor(of user: UserRecord) -> SignInSession.Factor? {
            guard let firebase = claims["firebase"], let kind = firebase["sign_in_second_factor"]?.stringValue,
                let id = firebase["second_factor_identifier"]?.stringValue,
                user.secondFactors.contains(where: { $0.id == id })
            else { return nil }
            return SignInSession.Factor(id: id, kind: kind)
        }
    }

    /// Verifies an ID token. Whether its user exists is for ``user(of:in:)``.
    func caller(_ token: String?) throws(IdentityToolkitError) -> Caller {
        let token = try require(token, "MISSING_ID_TOKEN")
        switch verifier.verify(token) {
        case .valid(let verified):
            guard let value = try? JSONValue(parsing: Array(verified.claims.readableBytesView)),
                let claims = value.objectValue
            else { throw .invalidIDToken }
            let firebase = claims["firebase"]
            return Caller(
                uid: verified.subject, issuedAt: claims["iat"].flatMap(\.intValue).map(Int64.init) ?? 0,
                provider: firebase?["sign_in_provider"]?.stringValue ?? "custom",
                signedInAt: claims["auth_time"].flatMap(\.intValue).map(Int64.init) ?? 0,
                signInGeneration: firebase?[TokenIssuer.generation].flatMap(\.intValue).map(Int64.init) ?? 0,
                claims: claims)
        case .invalid(.expired): throw IdentityToolkitError("TOKEN_EXPIRED")
        case .invalid: throw .invalidIDToken
        case .needsKeys, .unavailable: throw .unavailable
        }
    }

    /// - Throws: an ``IdentityToolkitError`` if the user doesn't exist, is disabled, or has revoked the token.
    func user(of caller: Caller, in reader: some UserReader) throws -> UserRecord {
        let user = try require(try reader.user(caller.uid), "USER_NOT_FOUND")
        try require(
            caller.issuedAt >= user.validSince ?? 0 && caller.signInGeneration == user.signInGeneration,
            "TOKEN_EXPIRED")
        try require(!user.isDisabled, "USER_DISABLED")
        return user
    }

    func settings(_ reader: some UserReader) throws -> ProjectSettings {
        try ProjectSettings(reader, defaults: configuration)
    }
}
