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
import UserStore

/// Sign-in by identity providers whose assertions are verified.
@Suite struct ProviderTests {
    /// An issuer on no network: its discovery document, its keys, and profiles by access token.
    private final class Providers: OutboundTransport {
        static let issuer = "https://id.example.com"

        let asked = Mutex<[String]>([])
        let isDown = Atomic(false)

        func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
            asked.withLock { $0.append(request.address) }
            if isDown.load(ordering: .relaxed) { throw OutboundError(.notSent, host: "id.example.com", "it is down") }
            let token = request.headers["Authorization"]
            let body: String
            switch request.address {
            case Self.issuer + "/.well-known/openid-configuration":
                body = #"{"issuer":"\#(Self.issuer)","jwks_uri":"\#(Self.issuer)/keys"}"#
            case "https://accounts.google.com/.well-known/openid-configuration":
                body = #"{"issuer":"https://accounts.google.com","jwks_uri":"\#(Self.issuer)/keys"}"#
            case Self.issuer + "/keys":
                guard let key = try? TestIssuer.shared.get().key else { return OutboundResponse(status: 500) }
                body = String(
                    decoding: (try? JSONValue.object(PublishedKeys(keys: [key]).webKeySet).serialized()) ?? [],
                    as: UTF8.self)
            case _ where token == "Bearer busy": return OutboundResponse(status: 429)
            case "https://graph.example.com/me" where token == "Bearer good":
                body =
                    #"{"id":"77","name":"Ken","picture":{"data":{"url":"https://example.com/k.png"}},"email":"ken@example.com"}"#
            case "https://graph.example.com/me" where token == "Bearer other-app": body = #"{"id":"78"}"#
            case "https://graph.example.com/app":
                body = token == "Bearer good" ? #"{"id":"app-1"}"# : #"{"id":"app-2"}"#
            default: return OutboundResponse(status: 400, body: Array("{}".utf8))
            }
            return OutboundResponse(status: 200, body: Array(body.utf8))
        }
    }

    private static var configuration: SignInConfiguration {
        var configuration = SignInConfiguration()
        var face = ProviderConfig.ProfileAddresses(profile: "https://graph.example.com/me")
        (face.app, face.appID) = ("https://graph.example.com/app", "app-1")
        face.authorization = "https://face.example.com/dialog"
        configuration.providers = [
            ProviderConfig(
                id: "oidc.id", check: .openID(issuer: Providers.issuer, clientIDs: ["client-1", "client-2"])),
            ProviderConfig(id: "face.example", check: .profile(face)),
        ]
        return configuration
    }

    private static var claims: TestIssuer.Claims {
        [
            "iss": Providers.issuer, "aud": "client-1", "sub": "u-1", "iat": TestIssuer.start,
            "exp": TestIssuer.start + 600, "email": "hana@example.com", "email_verified": "true", "name": "Hana",
        ]
    }

    private func enter(
        _ host: SignInHost, _ provider: String, _ fields: [String: String], from address: String? = nil,
        more: String = ""
    ) async throws -> SignInHost.Answer {
        let form = fields.merging(["providerId": provider]) { $1 }
            .map { "\($0.key)=\(PercentEncoding.encoded($0.value))" }.joined(separator: "&")
        return try await host.account(
            "signInWithIdp",
            #"{"requestUri":"http://localhost","postBody":"\#(form)","returnSecureToken":true\#(more)}"#,
            from: address)
    }

    @Test func anIDTokenOfAConfiguredIssuerSignsIn() async throws {
        let providers = Providers()
        let issuer = try TestIssuer.shared.get()
        try await SignInHost.serving(policy: .production, configuration: Self.configuration, transport: providers) {
            host throws in
            let token = try issuer.token(Self.claims)
            let first = try await enter(host, "oidc.id", ["id_token": token])
            #expect(first.status == 200)
            #expect(first.body["isNewUser"]?.isTrue == true)
            #expect(first.body["emailVerified"]?.isTrue == true)
            #expect(first.body["federatedId"]?.text == "u-1")
            var claims = Self.claims
            claims["aud"] = ["client-2", "other"]
            let second = try await enter(host, "oidc.id", ["id_token": try issuer.token(claims)])
            #expect(second.body["localId"]?.text == first.body["localId"]?.text)
            #expect(second.body["isNewUser"]?.isTrue == false)
            // As RFC 7519 allows.
            claims["iat"] = Double(TestIssuer.start) - 0.5
            claims["exp"] = Double(TestIssuer.start) + 600.5
            #expect(try await enter(host, "oidc.id", ["id_token": try issuer.token(claims)]).status == 200)
            // The keys are fetched once.
            #expect(providers.asked.withLock { $0.count } == 2)
        }
    }

    /// Apple tells it once: to the app, which sends it on, or in the form that the browser brings.
    @Test func aNameBesideApplesTokenIsTheNewUsers() async throws {
        try await SignInHost.serving { host in
            let token = #"{"sub":"apple-1","email":"hana@example.com","email_verified":true}"#
            let name = #"{"name":{"firstName":"Hana","lastName":"Sato"}}"#
            let first = try await enter(host, "apple.com", ["id_token": token, "user": name])
            #expect(first.body["displayName"]?.text == "Hana Sato")
            let uid = try #require(first.body["localId"]?.text)
            let again = try await enter(host, "apple.com", ["id_token": token])
            #expect(again.body["localId"]?.text == uid)
            let stored = try await host.users.read { try $0.user(uid) }
            #expect(stored?.displayName == "Hana Sato")
            #expect(stored?.identities.map(\.displayName) == ["Hana Sato"])
        }
    }

    /// The SDK of iOS sends the fields decoded.
    @Test func aPercentSignInANameEndsNoSignIn() async throws {
        try await SignInHost.serving { host in
            let name = #"{\"name\":{\"firstName\":\"50% Hana\"}}"#
            let form = #"providerId=apple.com&id_token={\"sub\":\"apple-1\"}&user=\#(name)"#
            let answer = try await host.account(
                "signInWithIdp", #"{"requestUri":"http://localhost","postBody":"\#(form)"}"#)
            #expect(answer.body["displayName"]?.text == "50% Hana")
        }
    }

    @Test func eachClaimOfAnIDTokenIsChecked() async throws {
        let issuer = try TestIssuer.shared.get()
        let stranger = try TestIssuer.stranger.get()
        try await SignInHost.serving(policy: .production, configuration: Self.configuration, transport: Providers()) {
            host throws in
            for (claim, value) in [
                ("iss", "https://evil.example"), ("aud", "client-3"), ("exp", TestIssuer.start),
                ("iat", TestIssuer.start + 301), ("sub", ""), ("sub", 7),
            ] as [(String, any Sendable)] {
                var claims = Self.claims
                claims[claim] = value
                let answer = try await enter(host, "oidc.id", ["id_token": try issuer.token(claims)])
                #expect(answer.body.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE : ") == true, "\(claim)")
            }
            for token in [
                try stranger.token(Self.claims), try TestIssuer.unsigned(Self.claims), "x.y.z",
                try issuer.token(Self.claims).dropLast(4) + "AAAA",
            ] {
                let answer = try await enter(host, "oidc.id", ["id_token": String(token)])
                #expect(answer.body.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE : ") == true)
            }
            let json = try await enter(host, "oidc.id", ["id_token": #"{\"sub\":\"u-1\"}"#])
            #expect(json.status == 400)
            let unknown = try await enter(host, "oidc.other", ["id_token": try issuer.token(Self.claims)])
            #expect(unknown.body.errorMessage?.hasPrefix("OPERATION_NOT_ALLOWED") == true)
        }
    }

    @Test func aNonceMustBeTheOneOfTheToken() async throws {
        let issuer = try TestIssuer.shared.get()
        try await SignInHost.serving(policy: .production, configuration: Self.configuration, transport: Providers()) {
            host throws in
            var claims = Self.claims
            // SHA-256 of "raw", as Apple's tokens have it.
            claims["nonce"] = Hexadecimal.encode(Secrets.hash("raw"))
            let token = try issuer.token(claims)
            #expect(try await enter(host, "oidc.id", ["id_token": token, "nonce": "raw"]).status == 200)
            let without = try issuer.token(Self.claims)
            var plain = Self.claims
            plain["nonce"] = "raw"
            let readable = try issuer.token(plain)
            for fields in [
                // Whoever sees the token could send what is in it.
                ["id_token": readable, "nonce": "raw"],
                ["id_token": token], ["id_token": token, "nonce": "other"], ["id_token": without, "nonce": "raw"],
            ] {
                let answer = try await enter(host, "oidc.id", fields)
                #expect(answer.body.errorMessage?.hasPrefix("MISSING_OR_INVALID_NONCE") == true)
            }
        }
    }

    /// Google's library on iOS doesn't show an app the nonce that it makes.
    @Test func anAppsTokenOfGoogleNeedsNoNonce() async throws {
        let issuer = try TestIssuer.shared.get()
        var configuration = Self.configuration
        configuration.providers.append(
            ProviderConfig(
                id: "google.com", check: .openID(issuer: "https://accounts.google.com", clientIDs: ["web", "ios"])))
        try await SignInHost.serving(policy: .production, configuration: configuration, transport: Providers()) {
            host throws in
            func enter(_ changes: TestIssuer.Claims, nonce: String? = nil) async throws -> SignInHost.Answer {
                var claims = Self.claims
                claims["iss"] = "https://accounts.google.com"
                claims["nonce"] = Hexadecimal.encode(Secrets.hash("hidden"))
                var fields = ["id_token": try issuer.token(claims.merging(changes) { $1 })]
                fields["nonce"] = nonce
                return try await self.enter(host, "google.com", fields)
            }
            #expect(try await enter(["aud": "ios", "azp": "ios"]).status == 200)
            // An app that names its server's client gets tokens for that one.
            #expect(try await enter(["aud": "web", "azp": "another-ios"]).status == 200)
            #expect(try await enter(["aud": "ios"]).status == 200)
            for (changes, nonce) in [
                (["aud": "web", "azp": "web"], nil), (["aud": "web"], nil), (["aud": "ios", "azp": "ios"], "other"),
            ] as [(TestIssuer.Claims, String?)] {
                let answer = try await enter(changes, nonce: nonce)
                #expect(answer.body.errorMessage?.hasPrefix("MISSING_OR_INVALID_NONCE") == true)
            }
        }
    }

    /// An anonymous user links an account that another user has, and the app signs in with the credential of the error.
    @Test func whoCouldNotLinkAnAccountSignsInWithIt() async throws {
        let issuer = try TestIssuer.shared.get()
        try await SignInHost.serving(policy: .production, configuration: Self.configuration, transport: Providers()) {
            host throws in
            func token(_ nonce: String) throws -> String {
                var claims = Self.claims
                claims["nonce"] = Hexadecimal.encode(Secrets.hash(nonce))
                return try issuer.token(claims)
            }
            let owner = try await enter(host, "oidc.id", ["id_token": try token("first"), "nonce": "first"])
            let uid = try #require(owner.body["localId"]?.text)
            let visitor = try await host.signUp()
            let second = try token("second")
            let refused = try await enter(
                host, "oidc.id", ["id_token": second, "nonce": "second"],
                more: #","idToken":"\#(visitor.idToken)","returnIdpCredential":true"#)
            #expect(refused.body["errorMessage"]?.text == "FEDERATED_USER_ID_ALREADY_LINKED")
            // The client has the credential without its nonce. For others, or once more, it is good for nothing.
            let stolen = try await enter(host, "oidc.id", ["id_token": second], from: "198.51.100.1")
            #expect(stolen.body.errorMessage?.hasPrefix("MISSING_OR_INVALID_NONCE") == true)
            let entered = try await enter(host, "oidc.id", ["id_token": second])
            #expect(entered.body["localId"]?.text == uid)
            let again = try await enter(host, "oidc.id", ["id_token": second])
            #expect(again.body.errorMessage?.hasPrefix("MISSING_OR_INVALID_NONCE") == true)
        }
    }

    @Test func anAccessTokenIsCheckedAtTheProvider() async throws {
        try await SignInHost.serving(policy: .production, configuration: Self.configuration, transport: Providers()) {
            host throws in
            let answer = try await enter(host, "face.example", ["access_token": "good"])
            #expect(answer.status == 200)
            #expect(answer.body["displayName"]?.text == "Ken")
            #expect(answer.body["photoUrl"]?.text == "https://example.com/k.png")
            #expect(answer.body["federatedId"]?.text == "77")
            let other = try await enter(host, "face.example", ["access_token": "other-app"])
            #expect(other.body.errorMessage == "INVALID_IDP_RESPONSE : The access_token was issued for another app.")
            for token in ["bad", #"{\"sub\":\"77\"}"#] {
                let refused = try await enter(host, "face.example", ["access_token": token])
                #expect(refused.body.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true)
            }
        }
    }

    /// Anyone could have the host ask a provider about any number of invented tokens.
    @Test func aProviderIsAskedInVainAFewTimesForOneAddress() async throws {
        let providers = Providers()
        var configuration = Self.configuration
        configuration.attemptsPerAddress = 3
        try await SignInHost.serving(policy: .production, configuration: configuration, transport: providers) {
            host throws in
            for _ in 0..<3 {
                let answer = try await enter(host, "face.example", ["access_token": "bad"])
                #expect(answer.body.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true)
            }
            let asked = providers.asked.withLock { $0.count }
            for token in ["bad", "good"] {
                let answer = try await enter(host, "face.example", ["access_token": token])
                #expect(answer.body.errorMessage == IdentityToolkitError.tooManyAttempts.message)
            }
            #expect(providers.asked.withLock { $0.count } == asked)
            let other = try await enter(host, "face.example", ["access_token": "good"], from: "192.0.2.2")
            #expect(other.status == 200)
        }
    }

    @Test func aProviderThatHasTooManyRequestsRefusesNoToken() async throws {
        var configuration = Self.configuration
        configuration.attemptsPerAddress = 1
        try await SignInHost.serving(policy: .production, configuration: configuration, transport: Providers()) {
            host throws in
            #expect(try await enter(host, "face.example", ["access_token": "busy"]).status == 503)
            #expect(try await enter(host, "face.example", ["access_token": "good"]).status == 200)
        }
    }

    @Test func aProviderThatIsDownIsAnOutage() async throws {
        let providers = Providers()
        providers.isDown.store(true, ordering: .relaxed)
        let issuer = try TestIssuer.shared.get()
        try await SignInHost.serving(policy: .production, configuration: Self.configuration, transport: providers) {
            host throws in
            #expect(try await enter(host, "oidc.id", ["id_token": try issuer.token(Self.claims)]).status == 503)
            #expect(try await enter(host, "face.example", ["access_token": "good"]).status == 503)
        }
    }

    @Test func adminsAddChangeAndRemoveProviders() async throws {
        let issuer = try TestIssuer.shared.get()
        try await SignInHost.serving(policy: .production, transport: Providers()) { host throws in
            let path = "/identitytoolkit.googleapis.com/v2/projects/\(SignInHost.project)/oauthIdpConfigs"
            func admin(_ path: String, _ method: HTTPRequest.Method, _ json: String? = nil) async throws
                -> SignInHost.Answer
            {
                try await host.send(path, method: method, json: json, headers: [.authorization: "Bearer server"])
            }
            let config = #"{"clientId":"client-1","issuer":"\#(Providers.issuer)","displayName":"ID","enabled":true}"#
            let made = try await admin(path + "?oauthIdpConfigId=oidc.own", .post, config)
            #expect(made.status == 200)
            #expect(made.body["name"]?.text == "projects/\(SignInHost.project)/oauthIdpConfigs/oidc.own")
            let twice = try await admin(path + "?oauthIdpConfigId=oidc.own", .post, config)
            #expect(twice.body.errorMessage?.hasPrefix("DUPLICATE_CONFIGURATION") == true)
            let token = try issuer.token(Self.claims)
            #expect(try await enter(host, "oidc.own", ["id_token": token]).status == 200)
            let changed = try await admin(path + "/oidc.own?updateMask=enabled", .patch, #"{"enabled":false}"#)
            #expect(changed.body["enabled"]?.isTrue == false)
            #expect(changed.body["displayName"]?.text == "ID")
            #expect(try await enter(host, "oidc.own", ["id_token": token]).status == 400)
            for n in 0..<3 { _ = try await admin(path + "?oauthIdpConfigId=oidc.n\(n)", .post, config) }
            let page = try await admin(path + "?pageSize=2", .get)
            #expect(try page.body["oauthIdpConfigs"]?.elements().count == 2)
            let last = try #require(page.body["nextPageToken"]?.text)
            #expect(last == "oidc.n1")
            let rest = try await admin(path + "?pageSize=2&pageToken=\(last)", .get)
            #expect(try rest.body["oauthIdpConfigs"]?.elements().count == 2)
            #expect(rest.body["nextPageToken"] == nil)
            #expect(try await admin(path + "/oidc.own", .delete).status == 200)
            #expect(try await admin(path + "/oidc.own", .get).body.errorMessage == "CONFIGURATION_NOT_FOUND")
            for (id, json) in [
                ("google.com", config), ("oidc.Own", config), ("oidc.x", #"{"clientId":"c"}"#),
                ("oidc.x", #"{"issuer":"https://x.example"}"#),
                ("oidc.x", #"{"clientId":"c","issuer":"http://x.example"}"#),
            ] {
                #expect(try await admin(path + "?oauthIdpConfigId=\(id)", .post, json).status == 400)
            }
            #expect(try await host.send(path, method: .get).status == 401)
        }
    }

    /// It sends PATCH as POST with a header, and names the page by the answer's field.
    @Test func javaChangesAndListsProviders() async throws {
        try await SignInHost.serving(policy: .production, transport: Providers()) { host throws in
            let path = "/identitytoolkit.googleapis.com/v2/projects/\(SignInHost.project)/oauthIdpConfigs"
            let server: HTTPFields = [.authorization: "Bearer server"]
            let config = #"{"clientId":"client-1","issuer":"\#(Providers.issuer)","displayName":"ID","enabled":true}"#
            for id in ["oidc.a", "oidc.b", "oidc.c"] {
                let made = try await host.send(path + "?oauthIdpConfigId=\(id)", json: config, headers: server)
                #expect(made.status == 200)
            }
            var patch = server
            patch[try #require(HTTPField.Name("X-HTTP-Method-Override"))] = "PATCH"
            let changed = try await host.send(
                path + "/oidc.a?updateMask=enabled", json: #"{"enabled":false}"#, headers: patch)
            #expect(changed.body["enabled"]?.isTrue == false)
            #expect(changed.body["displayName"]?.text == "ID")
            let rest = try await host.send(
                path + "?pageSize=2&nextPageToken=oidc.b", method: .get, headers: server)
            let names = try rest.body["oauthIdpConfigs"]?.elements().map { $0["name"]?.text } ?? []
            #expect(names == ["projects/\(SignInHost.project)/oauthIdpConfigs/oidc.c"])
        }
    }

    @Test func aProviderThatCannotBeReadIsLoggedWithItsPageAlone() async throws {
        let log = LogLines()
        try await SignInHost.serving(policy: .production, logger: log.logger) { host throws in
            let path = "/identitytoolkit.googleapis.com/v2/projects/\(SignInHost.project)/oauthIdpConfigs"
            func admin(_ path: String, _ method: HTTPRequest.Method, _ json: String? = nil) async throws
                -> SignInHost.Answer
            {
                try await host.send(path, method: method, json: json, headers: [.authorization: "Bearer server"])
            }
            let config = #"{"clientId":"c","issuer":"https://id.example.com"}"#
            for id in ["oidc.a", "oidc.b"] {
                #expect(try await admin(path + "?oauthIdpConfigId=\(id)", .post, config).status == 200)
            }
            try await host.users.commit { $0.set("provider oidc.z", to: Array("{".utf8)) }
            for (token, next) in [("", "oidc.a"), ("oidc.a", "oidc.b"), ("oidc.b", nil)] as [(String, String?)] {
                let page = try await admin(path + "?pageSize=1&pageToken=\(token)", .get)
                #expect(page.body["nextPageToken"]?.text == next)
            }
        }
        let line = "the config of a provider can't be read; delete it and create it again provider=oidc.z"
        #expect(log.all.filter { $0 == line }.count == 1)
    }

    @Test func aProviderThatCannotBeReadDoesNotHideTheOthers() async throws {
        let log = LogLines()
        try await SignInHost.serving(policy: .production, logger: log.logger) { host throws in
            let path = "/identitytoolkit.googleapis.com/v2/projects/\(SignInHost.project)/oauthIdpConfigs"
            func admin(_ path: String, _ method: HTTPRequest.Method, _ json: String? = nil) async throws
                -> SignInHost.Answer
            {
                try await host.send(path, method: method, json: json, headers: [.authorization: "Bearer server"])
            }
            let config = #"{"clientId":"c","issuer":"https://id.example.com"}"#
            for id in ["oidc.a", "oidc.b"] {
                #expect(try await admin(path + "?oauthIdpConfigId=\(id)", .post, config).status == 200)
            }
            try await host.users.commit { $0.set("provider oidc.a", to: Array("{".utf8)) }
            let listed = try await admin(path, .get).body["oauthIdpConfigs"]?.elements() ?? []
            #expect(listed.map { $0["name"]?.text } == ["projects/\(SignInHost.project)/oauthIdpConfigs/oidc.b"])
            #expect(try await admin(path + "/oidc.a", .get).status == 500)
            #expect(try await admin(path + "/oidc.a", .delete).status == 200)
            #expect(try await admin(path + "?oauthIdpConfigId=oidc.a", .post, config).status == 200)
            #expect(try await admin(path, .get).body["oauthIdpConfigs"]?.elements().count == 2)
        }
        let line = "the config of a provider can't be read; delete it and create it again provider=oidc.a"
        #expect(log.all.filter { $0 == line }.count == 1)
    }
}

extension JSONNode {
    fileprivate var isTrue: Bool? {
        guard case .boolean(let flag) = kind else { return nil }
        return flag
    }
}
