import Crypto
import HTTPTypes
import HostTesting
@testable import IdentityProvider
import OutboundHTTP
import StrictJSON
import Synchronization
import TestSupport
import Testing
import TextFormats
@testable import TokenVerification

/// Sign-in by providers whose codes are exchanged with the client's secret, and by tokens with other algorithms than RS256.
@Suite struct CodeFlowTests {
    private static let issuer = "https://id.example.com"
    private static let secret = "s%cret"
    private static let key = P256.Signing.PrivateKey()

    /// An issuer with a token endpoint, and a provider without ID tokens.
    private final class Providers: OutboundTransport {
        let asked = Mutex<[OutboundRequest]>([])
        /// By code.
        let answers: [String: String]
        let methods: String
        /// Whether a client that sends its secret in the header isn't recognized.
        let readsForms: Bool

        init(_ answers: [String: String] = [:], methods: String = "[]", readsForms: Bool = false) {
            (self.answers, self.methods, self.readsForms) = (answers, methods, readsForms)
        }

        func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
            asked.withLock { $0.append(request) }
            let issuer = CodeFlowTests.issuer
            switch request.address {
            case issuer + "/.well-known/openid-configuration":
                return Self.ok(
                    #"{"issuer":"\#(issuer)","jwks_uri":"\#(issuer)/keys","token_endpoint":"\#(issuer)/token","#
                        + #""userinfo_endpoint":"\#(issuer)/me","#
                        + #""token_endpoint_auth_methods_supported":\#(methods)}"#)
            case issuer + "/keys":
                let point = CodeFlowTests.key.publicKey.rawRepresentation
                let (x, y) = (Base64URL.encode(Array(point.prefix(32))), Base64URL.encode(Array(point.suffix(32))))
                return Self.ok(
                    #"{"keys":[{"kty":"EC","crv":"P-521","kid":"big"},{"kty":"EC","crv":"P-256","alg":"ES256","kid":"e","#
                        + #""x":"\#(x)","y":"\#(y)"}]}"#)
            case "https://hub.example.com/me" where request.headers["Authorization"] == "Bearer t-1":
                return Self.ok(#"{"id":7,"name":"Octo"}"#)
            case issuer + "/me" where request.headers["Authorization"] == "Bearer for-another-api":
                return OutboundResponse(status: 401)
            case issuer + "/me" where request.headers["Authorization"] == "Bearer down":
                return OutboundResponse(status: 502)
            case issuer + "/me":
                let sub = request.headers["Authorization"] == "Bearer thin" ? "u-1" : "u-2"
                return Self.ok(#"{"sub":"\#(sub)","name":"Hana","email":"hana@example.com","email_verified":true}"#)
            case issuer + "/token" where readsForms && request.headers["Authorization"] != nil:
                return OutboundResponse(status: 401, body: Array(#"{"error":"invalid_client"}"#.utf8))
            case issuer + "/token", "https://hub.example.com/token":
                let code = FormFields.values(request.body ?? [])["code"] ?? ""
                guard let answer = answers[code] else {
                    return OutboundResponse(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8))
                }
                return Self.ok(answer)
            default: return OutboundResponse(status: 404)
            }
        }

        private static func ok(_ body: String) -> OutboundResponse {
            OutboundResponse(status: 200, body: Array(body.utf8))
        }
    }

    private static var configuration: SignInConfiguration {
        var configuration = SignInConfiguration()
        configuration.publicAddress = "https://auth.example.com"
        var open = ProviderConfig(id: "oidc.id", check: .openID(issuer: issuer, clientIDs: ["web", "ios"]))
        (open.usesCode, open.clientSecret) = (true, secret)
        var addresses = ProviderConfig.ProfileAddresses(profile: "https://hub.example.com/me")
        (addresses.appID, addresses.token) = ("app-1", "https://hub.example.com/token")
        var hub = ProviderConfig(id: "hub.example", check: .profile(addresses))
        (hub.usesCode, hub.clientSecret) = (true, secret)
        let implicit = ProviderConfig(id: "oidc.implicit", check: .openID(issuer: issuer, clientIDs: ["web"]))
        configuration.providers = [open, hub, implicit]
        return configuration
    }

    private static func token(
        _ algorithm: String, keyID: String? = "e", nonce: String? = nil, email: String? = nil
    ) throws -> String {
        var claims: TestIssuer.Claims = [
            "iss": issuer, "aud": "web", "sub": "u-1", "iat": TestIssuer.start, "exp": TestIssuer.start + 600,
        ]
        if let nonce { claims["nonce"] = Hexadecimal.encode(Secrets.hash(nonce)) }
        if let email { claims["email"] = email }
        var header: TestIssuer.Claims = ["alg": algorithm, "typ": "JWT"]
        if let keyID { header["kid"] = keyID }
        let signed = String(try TestIssuer.unsigned(header: header, claims).dropLast())
        let signature: [UInt8]
        if algorithm == "HS256" {
            let key = SymmetricKey(data: Array(secret.utf8))
            signature = Array(HMAC<SHA256>.authenticationCode(for: Array(signed.utf8), using: key))
        } else {
            signature = Array(try key.signature(for: SHA256.hash(data: Array(signed.utf8))).rawRepresentation)
        }
        return signed + "." + Base64URL.encode(signature)
    }

    /// Signs in as the page of the web SDK does: the address that the provider returned to has the code.
    private func enter(
        _ providers: Providers, _ provider: String, _ fields: [String: String], more: String = "",
        page: String = "https://auth.example.com/emulator/auth/handler"
    ) async throws -> SignInHost.Answer {
        try await SignInHost.serving(policy: .production, configuration: Self.configuration, transport: providers) {
            host in try await Self.enter(host, provider, fields, more: more, page: page)
        }
    }

    private static func enter(
        _ host: SignInHost, _ provider: String, _ fields: [String: String], more: String = "",
        page: String = "https://auth.example.com/emulator/auth/handler"
    ) async throws -> SignInHost.Answer {
        let query = fields.merging(["providerId": provider]) { $1 }
            .map { "\($0.key)=\(PercentEncoding.encoded($0.value))" }.joined(separator: "&")
        return try await host.account(
            "signInWithIdp", #"{"requestUri":"\#(page)?\#(query)","returnSecureToken":true\#(more)}"#)
    }

    @Test func aCodeIsExchangedForTheTokens() async throws {
        let token = try Self.token("ES256", nonce: "n")
        let providers = Providers([
            "c-1": #"{"id_token":"\#(token)","access_token":"a","refresh_token":"r","expires_in":60}"#
        ])
        let answer = try await enter(
            providers, "oidc.id", ["code": "c-1", "nonce": "n", "code_verifier": "v"],
            more: #","returnRefreshToken":true"#)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(answer.body["federatedId"]?.text == "u-1")
        #expect(answer.body["oauthIdToken"]?.text == token)
        #expect(answer.body["oauthAccessToken"]?.text == "a")
        #expect(answer.body["oauthRefreshToken"]?.text == "r")
        #expect(try answer.body["oauthExpireIn"]?.integer() == 60)
        let request = try #require(providers.asked.withLock { $0.first { $0.address.hasSuffix("/token") } })
        #expect(
            FormFields.values(request.body ?? []) == [
                "grant_type": "authorization_code", "code": "c-1",
                "redirect_uri": "https://auth.example.com/emulator/auth/handler", "code_verifier": "v",
            ])
        // RFC 6749, section 2.3.1: both are encoded before they are joined.
        #expect(request.headers["Authorization"] == "Basic " + Base64.encode(Array("web:s%25cret".utf8)))
    }

    @Test func theSecretGoesWhereTheIssuerReadsIt() async throws {
        let token = try Self.token("ES256")
        let providers = Providers(["c": #"{"id_token":"\#(token)"}"#], methods: #"["client_secret_post"]"#)
        #expect(try await enter(providers, "oidc.id", ["code": "c"]).status == 200)
        let request = try #require(providers.asked.withLock { $0.first { $0.address.hasSuffix("/token") } })
        #expect(request.headers["Authorization"] == nil)
        let form = FormFields.values(request.body ?? [])
        #expect(form["client_id"] == "web")
        #expect(form["client_secret"] == Self.secret)
    }

    @Test func aProviderThatReadsFormsAloneIsFound() async throws {
        let token = try Self.token("ES256")
        let providers = Providers(["c": #"{"id_token":"\#(token)","refresh_token":"r"}"#], readsForms: true)
        let answer = try await enter(providers, "oidc.id", ["code": "c"])
        #expect(answer.status == 200)
        // Who doesn't ask for it gets no credential that lives long.
        #expect(answer.body["oauthRefreshToken"] == nil)
        #expect(providers.asked.withLock { $0.count { $0.address.hasSuffix("/token") } } == 2)
    }

    @Test(arguments: [
        "http://localhost:3000/callback", "https://auth.example.com/emulator/auth/handler/x", "app://shop",
    ]) func aCodeForAnotherPageIsRefused(_ page: String) async throws {
        let token = try Self.token("ES256")
        let providers = Providers(["c": #"{"id_token":"\#(token)"}"#])
        let answer = try await enter(providers, "oidc.id", ["code": "c"], page: page)
        #expect(answer.body.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE : Codes are for the page") == true)
        #expect(providers.asked.withLock { !$0.contains { $0.address.hasSuffix("/token") } })
    }

    @Test func whatTheIDTokenLacksIsAskedFor() async throws {
        let token = try Self.token("ES256")
        let thin = Providers(["c": #"{"id_token":"\#(token)","access_token":"thin"}"#])
        #expect(try await enter(thin, "oidc.id", ["code": "c"]).body["email"]?.text == "hana@example.com")
        // Another user's profile.
        let other = Providers(["c": #"{"id_token":"\#(token)","access_token":"other"}"#])
        let answer = try await enter(other, "oidc.id", ["code": "c"])
        #expect(answer.status == 200)
        #expect(answer.body["email"] == nil)
    }

    /// An access token with scopes of the app's own may be for another API than the issuer's.
    @Test func aTokenThatDescribesNoUserRefusesNoSignIn() async throws {
        let token = try Self.token("ES256", email: "hana@example.com")
        let other = Providers(["c": #"{"id_token":"\#(token)","access_token":"for-another-api"}"#])
        let answer = try await enter(other, "oidc.id", ["code": "c"])
        #expect(answer.status == 200)
        #expect(answer.body["email"]?.text == "hana@example.com")
        #expect(answer.body["idToken"]?.text != nil)
        // A user without what the issuer would tell later isn't created.
        let down = Providers(["c": #"{"id_token":"\#(token)","access_token":"down"}"#])
        #expect(try await enter(down, "oidc.id", ["code": "c"]).status == 503)
    }

    /// Some issuers let users write any address into their tokens.
    @Test(arguments: [("hana@example.com", true), ("victim@example.com", false)])
    func anAddressIsNotVerifiedWithAnother(email: String, isVerified: Bool) async throws {
        let token = try Self.token("ES256", email: email)
        let providers = Providers(["c": #"{"id_token":"\#(token)","access_token":"thin"}"#])
        let answer = try await enter(providers, "oidc.id", ["code": "c"])
        #expect(answer.body["displayName"]?.text == "Hana")
        #expect(answer.body["email"]?.text == email)
        #expect(answer.body["emailVerified"]?.isTrue == isVerified)
    }

    @Test func whatTheHostGotForACodeCanBeLinked() async throws {
        let providers = Providers(["c": #"{"access_token":"t-1"}"#])
        try await SignInHost.serving(policy: .production, configuration: Self.configuration, transport: providers) {
            host throws in
            let first = try await Self.enter(host, "hub.example", ["code": "c"])
            #expect(first.status == 200)
            let uid = try #require(first.body["localId"]?.text)
            let idToken = try #require(first.body["idToken"]?.text)
            _ = try await host.account("update", #"{"idToken":"\#(idToken)","deleteProvider":["hub.example"]}"#)
            // As clients link the credential of a sign-in.
            let linked = try await Self.enter(
                host, "hub.example", ["access_token": "t-1"], more: #","idToken":"\#(idToken)""#)
            #expect(linked.body["localId"]?.text == uid, "\(linked.body)")
        }
    }

    @Test func aRefusedCodeIsExplained() async throws {
        let answer = try await enter(Providers(), "oidc.id", ["code": "used"])
        #expect(
            answer.body.errorMessage
                == "INVALID_IDP_RESPONSE : The provider doesn't accept the code: invalid_grant")
        // GitHub refuses with the status 200.
        let hub = try await enter(Providers(["c": #"{"error":"bad_verification_code"}"#]), "hub.example", ["code": "c"])
        #expect(hub.body.errorMessage?.hasSuffix("bad_verification_code") == true)
        let without = try await enter(Providers(["c": "{}"]), "oidc.id", ["code": "c"])
        #expect(without.body.errorMessage?.contains("needs an id_token") == true)
        // A client without a secret has no use for codes.
        let implicit = try await enter(Providers(), "oidc.implicit", ["code": "c"])
        #expect(implicit.body.errorMessage?.contains("needs an id_token") == true)
    }

    /// Such as when the client's secret has expired: the operator has to act, and users aren't kept out by pauses.
    @Test func aProviderThatRefusesTheHostCountsAgainstNoUser() async throws {
        var configuration = Self.configuration
        configuration.attemptsPerAddress = 1
        let providers = Providers(
            ["c": #"{"error":"incorrect_client_credentials"}"#], methods: #"["client_secret_basic"]"#, readsForms: true)
        try await SignInHost.serving(policy: .production, configuration: configuration, transport: providers) {
            host throws in
            for provider in ["oidc.id", "hub.example", "oidc.id"] {
                let answer = try await Self.enter(host, provider, ["code": "c"])
                #expect(
                    answer.body.errorMessage?.hasPrefix("OPERATION_NOT_ALLOWED : The provider doesn't accept this host")
                        == true, "\(answer.body)")
            }
            // What the client brings still counts.
            let used = try await Self.enter(host, "hub.example", ["code": "used"])
            #expect(used.body.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true)
            let next = try await Self.enter(host, "hub.example", ["code": "c"])
            #expect(next.body.errorMessage == IdentityToolkitError.tooManyAttempts.message)
        }
    }

    @Test func aTokenForACodeHasTheNonceToo() async throws {
        let token = try Self.token("ES256", nonce: "n")
        let providers = Providers(["c": #"{"id_token":"\#(token)"}"#])
        let answer = try await enter(providers, "oidc.id", ["code": "c", "nonce": "other"])
        #expect(answer.body.errorMessage?.hasPrefix("MISSING_OR_INVALID_NONCE") == true)
    }

    @Test func aProviderWithoutIDTokensIsAskedForTheOwner() async throws {
        let providers = Providers(["c": #"{"access_token":"t-1"}"#])
        let answer = try await enter(providers, "hub.example", ["code": "c"])
        #expect(answer.status == 200, "\(answer.body)")
        #expect(answer.body["federatedId"]?.text == "7")
        // It doesn't tell for which app it is.
        let brought = try await enter(providers, "hub.example", ["access_token": "t-1"])
        #expect(brought.body.errorMessage?.contains("needs a code") == true)
    }

    @Test func tokensAreVerifiedByTheAlgorithmOfTheirKey() async throws {
        func status(_ provider: String, _ token: String) async throws -> Int {
            try await enter(Providers(), provider, ["id_token": token]).status
        }
        #expect(try await status("oidc.implicit", try Self.token("ES256")) == 200)
        let own = try Self.token("HS256", keyID: nil)
        #expect(try await enter(Providers(["c": #"{"id_token":"\#(own)"}"#]), "oidc.id", ["code": "c"]).status == 200)
        // Not got for a code, no secret, another key, another algorithm, a broken signature.
        #expect(try await status("oidc.id", own) == 400)
        #expect(try await status("oidc.implicit", try Self.token("HS256")) == 400)
        #expect(try await status("oidc.implicit", try Self.token("ES256", keyID: "big")) == 400)
        #expect(try await status("oidc.implicit", try Self.token("ES256", keyID: nil)) == 400)
        #expect(try await status("oidc.implicit", try Self.token("RS256")) == 400)
        #expect(try await status("oidc.implicit", String(try Self.token("ES256").dropLast(4)) + "AAAA") == 400)
    }

    @Test func adminsChooseTheFlow() async throws {
        try await SignInHost.serving(policy: .production, transport: Providers()) { host throws in
            let path = "/identitytoolkit.googleapis.com/v2/projects/\(SignInHost.project)/oauthIdpConfigs"
            func make(_ id: String, _ more: String) async throws -> SignInHost.Answer {
                try await host.send(
                    path + "?oauthIdpConfigId=\(id)", method: .post,
                    json: #"{"clientId":"web","issuer":"\#(Self.issuer)","enabled":true\#(more)}"#,
                    headers: [.authorization: "Bearer server"])
            }
            let made = try await make("oidc.a", #","clientSecret":"s","responseType":{"code":true}"#)
            #expect(made.body["responseType"]?["code"]?.isTrue == true)
            #expect(made.body["responseType"]?["idToken"]?.isTrue == false)
            let changed = try await host.send(
                path + "/oidc.a?updateMask=responseType.code,responseType.idToken", method: .patch,
                json: #"{"responseType":{"code":false,"idToken":true}}"#, headers: [.authorization: "Bearer server"])
            #expect(changed.body["responseType"]?["idToken"]?.isTrue == true)
            let plain = try await make("oidc.b", "")
            #expect(plain.body["responseType"]?["idToken"]?.isTrue == true)
            let noSecret = try await make("oidc.c", #","responseType":{"code":true}"#)
            #expect(noSecret.body.errorMessage?.hasPrefix("MISSING_OAUTH_CLIENT_SECRET") == true)
            let half = try await host.send(
                path + "/oidc.a?updateMask=responseType.code", method: .patch,
                json: #"{"responseType":{"code":true,"idToken":true}}"#, headers: [.authorization: "Bearer server"])
            #expect(half.body["responseType"]?["code"]?.isTrue == true)
            let both = try await make("oidc.c", #","clientSecret":"s","responseType":{"code":true,"idToken":true}"#)
            #expect(both.body.errorMessage?.hasPrefix("INVALID_OAUTH_RESPONSETYPE") == true)
        }
    }
}

extension JSONNode {
    fileprivate var isTrue: Bool? {
        guard case .boolean(let flag) = kind else { return nil }
        return flag
    }
}
