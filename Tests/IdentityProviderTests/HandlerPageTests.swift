import Crypto
import HostTesting
import HTTPTypes
import Hummingbird
import HummingbirdTesting
@testable import IdentityProvider
import OutboundHTTP
import TestSupport
import Testing
import TextFormats
import TokenVerification

/// The page that leads browsers to identity providers and back, in production.
@Suite struct HandlerPageTests {
    private struct Provider: OutboundTransport {
        func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
            let endpoint = #","authorization_endpoint":"https://id.example.com/authorize?tenant=1""#
            switch request.address {
            case "https://id.example.com/.well-known/openid-configuration":
                return Self.document("https://id.example.com", endpoint)
            case "https://appleid.apple.com/.well-known/openid-configuration":
                return Self.document("https://appleid.apple.com", endpoint)
            case "https://pageless.example/.well-known/openid-configuration":
                return Self.document("https://pageless.example", "")
            default: throw OutboundError(.notSent, host: "down.example", "it is down")
            }
        }

        private static func document(_ issuer: String, _ more: String) -> OutboundResponse {
            OutboundResponse(
                status: 200, body: Array(#"{"issuer":"\#(issuer)","jwks_uri":"\#(issuer)/keys"\#(more)}"#.utf8))
        }
    }

    private static var configuration: SignInConfiguration {
        var configuration = SignInConfiguration()
        configuration.publicAddress = "https://auth.example.com"
        configuration.authorizedDomains = ["shop.example.com"]
        func openID(_ id: String, _ issuer: String) -> ProviderConfig {
            ProviderConfig(id: id, check: .openID(issuer: issuer, clientIDs: ["web", "ios"]))
        }
        var addresses = ProviderConfig.ProfileAddresses(profile: "https://face.example/me")
        (addresses.appID, addresses.authorization) = ("app-1", "https://face.example/dialog")
        var codes = openID("oidc.codes", "https://id.example.com")
        (codes.usesCode, codes.clientSecret) = (true, "s")
        configuration.providers = [
            openID("oidc.id", "https://id.example.com"), openID("apple.com", "https://appleid.apple.com"),
            openID("oidc.pageless", "https://pageless.example"), openID("oidc.down", "https://down.example"),
            ProviderConfig(
                id: "face.example",
                check: .profile(addresses)),
            codes,
        ]
        return configuration
    }

    private func open(
        _ query: [String: String], method: HTTPRequest.Method = .get, form: String? = nil,
        policy: TokenPolicy = .production
    ) async throws -> (status: Int, text: String, policy: String?) {
        try await SignInHost.serving(policy: policy, configuration: Self.configuration, transport: Provider()) { host in
            let query = query.map { "\($0.key)=\(PercentEncoding.encoded($0.value))" }.joined(separator: "&")
            let response = try await host.client.execute(
                uri: "/emulator/auth/handler" + (query.isEmpty ? "" : "?" + query), method: method,
                headers: form == nil ? [:] : [.contentType: "application/x-www-form-urlencoded"],
                body: form.map { .init(string: $0) })
            return (
                response.status.code, String(buffer: response.body), response.headers[.contentSecurityPolicy]
            )
        }
    }

    /// - Returns: the parameters of the address that the page leads to.
    private func departure(_ provider: String, _ more: [String: String] = [:]) async throws -> [String: String] {
        let page = try await open(
            [
                "apiKey": "k", "appName": "a", "authType": "signInViaPopup", "providerId": provider, "eventId": "1",
                "redirectUrl": "https://shop.example.com/in",
            ].merging(more) { $1 })
        #expect(page.status == 200, "\(page.text)")
        let address = try #require(page.text.split(separator: "data-address=\"").last?.split(separator: "\"").first)
        let parts = address.replacing("&amp;", with: "&").split(separator: "?", maxSplits: 1)
        let query = try #require(parts.last)
        var fields = FormFields.values(query.utf8)
        fields["address"] = String(parts[0])
        fields["nonce"] = page.text.contains(#"data-nonce="true""#) ? "yes" : nil
        return fields
    }

    @Test func itLeadsToTheProvidersPage() async throws {
        #expect(
            try await departure("oidc.id", ["scopes": "profile,phone", "customParameters": #"{"prompt":"login"}"#]) == [
                "address": "https://id.example.com/authorize", "tenant": "1", "client_id": "web",
                "redirect_uri": "https://auth.example.com/emulator/auth/handler", "response_type": "id_token",
                "scope": "openid email profile phone", "prompt": "login", "nonce": "yes",
            ])
        #expect(
            try await departure("apple.com", ["scopes": "name,email"]) == [
                "address": "https://id.example.com/authorize", "tenant": "1", "client_id": "web",
                "redirect_uri": "https://auth.example.com/emulator/auth/handler", "response_type": "code id_token",
                "response_mode": "form_post", "scope": "name email", "nonce": "yes",
            ])
        #expect(
            try await departure("face.example") == [
                "address": "https://face.example/dialog", "client_id": "app-1",
                "redirect_uri": "https://auth.example.com/emulator/auth/handler", "response_type": "token",
            ])
    }

    @Test func withASecretItAsksForACode() async throws {
        let fields = try await departure("oidc.codes")
        #expect(fields["response_type"] == "code")
        #expect(fields["nonce"] == "yes")
        let page = try await open(
            [
                "apiKey": "k", "providerId": "oidc.codes", "eventId": "1", "redirectUrl": "https://shop.example.com/in",
            ])
        #expect(page.text.contains(#"data-code="true""#))
        #expect(try await open(["state": "s", "code": "c-1"]).text.contains("fields.code"))
        let form = try await open([:], method: .post, form: "state=s&code=c-1&user=%7B%7D")
        #expect(form.text.contains("code=c-1"))
        #expect(form.text.contains("user=%7B%7D"))
        #expect(form.text.contains("fields.user"))
    }

    @Test func anAppCannotChangeWhereTheProviderReturns() async throws {
        let custom =
            #"{"redirect_uri":"https://evil.example","client_id":"x","state":"s","nonce":"n","response_type":"code"}"#
        let fields = try await departure("oidc.id", ["customParameters": custom])
        #expect(fields["redirect_uri"] == "https://auth.example.com/emulator/auth/handler")
        #expect(fields["client_id"] == "web")
        #expect(fields["response_type"] == "id_token")
        #expect(fields["state"] == nil)
    }

    @Test(arguments: [TokenPolicy.development, .production])
    func itLeadsBackToAuthorizedSitesAlone(_ policy: TokenPolicy) async throws {
        for url in [
            "https://evil.example", "javascript:alert(1)", "https://shop.example.com@evil.example", "//evil.example",
            "data:text/html,x",
        ] {
            let page = try await open(
                ["apiKey": "k", "providerId": "oidc.id", "redirectUrl": url], policy: policy)
            #expect(page.status == 400, "\(url)")
            #expect(page.text.contains("authorizedDomains"))
        }
    }

    /// `OAuthProvider` on Android and iOS waits for it. In production any app could ask for the result of a sign-in.
    @Test(arguments: [["apn": "com.example.shop"], ["ibi": "com.example.shop", "appId": "1:2:ios:3"]])
    func anAppGetsItsResultInDevelopmentAlone(app: [String: String]) async throws {
        let addresses = ["intent://firebase.auth/#Intent;scheme=genericidp;", "://firebaseauth/link?deep_link_id="]
        let query = app.merging(
            ["apiKey": "k", "authType": "signInWithRedirect", "providerId": "oidc.id", "eventId": "1"]) { $1 }
        let page = try await open(query, policy: .development)
        #expect(page.status == 200)
        #expect(addresses.allSatisfy { page.text.contains($0) })
        // The script is one that the page allows.
        let script = try #require(page.text.split(separator: "<script>").last?.split(separator: "</script>").first)
        let hash = Base64.encode(Array(SHA256.hash(data: Array(script.utf8))))
        #expect(page.policy?.contains("sha256-" + hash) == true)
        for page in [try await open(query), try await open(["state": "s", "id_token": "t"])] {
            #expect(page.status == 200)
            #expect(!addresses.contains { page.text.contains($0) })
        }
    }

    @Test(arguments: [
        ("oidc.none", 400, "auth.providers has no such provider"), ("oidc.pageless", 400, "authorization_endpoint"),
        ("oidc.down", 503, "reached"),
    ]) func aProviderWithoutPageIsExplained(_ provider: String, _ status: Int, _ text: String) async throws {
        let page = try await open(["apiKey": "k", "providerId": provider])
        #expect(page.status == status)
        #expect(page.text.contains(text), "\(page.text)")
    }

    @Test func whatComesBackIsForTheWindowThatLeft() async throws {
        for page in [
            try await open([:]), try await open(["state": "s", "error": "access_denied"]),
            try await open([:], method: .post, form: "state=s&id_token=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"),
        ] {
            #expect(page.status == 200)
            #expect(page.text.contains("sessionStorage"))
            #expect(!page.text.contains("<script>alert"))
            #expect(page.policy?.contains("unsafe") == false)
        }
        #expect(try await open(["apiKey": "k"]).status == 400)
    }
}
