import CommitPipeline
import DocumentModel
import Foundation
import HTTPTypes
import HostTesting
import Hummingbird
import HummingbirdTesting
import NIOCore
import SQLiteStorage
import StrictJSON
import Synchronization
import TestSupport
import Testing
import UserStore

@testable import AppCheck
@testable import IdentityProvider
@testable import TokenVerification

/// The endpoints at which apps get tokens.
struct AppCheckExchangeTests {
    private static let app = "1:123456:web:abc"
    private static let path = "/v1/projects/\(TestIssuer.project)/apps/\(app)"

    /// Answers what isn't the service's.
    private struct Other: HTTPResponder {
        func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
            Response(status: .gone)
        }
    }

    private struct Service {
        let client: any TestClientProtocol
        let verifier: TokenVerifier
        let users: UserStore
        let keys: LocalKeys

        func post(
            _ path: String, _ json: String, headers: HTTPFields = [:]
        ) async throws -> (status: Int, body: JSONValue, headers: HTTPFields) {
            let answer = try await client.execute(
                uri: path, method: .post, headers: headers, body: ByteBuffer(string: json))
            return (
                answer.status.code, (try? JSONValue(parsing: Array(answer.body.readableBytesView))) ?? .null,
                answer.headers
            )
        }
    }

    private func serving(
        in directory: TemporaryDirectory? = nil, number: String? = "123456", customTokens: CustomTokens = .unverified,
        _ body: @escaping @Sendable (Service) async throws -> Void
    ) async throws {
        let directory = try directory ?? TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let engine = try SQLiteEngine(file: directory.path + "/store.sqlite")
        let pipeline = try CommitPipeline(
            engine: engine, now: { Timestamp(seconds: TestIssuer.start, nanoseconds: 0) })
        let users = try UserStore(on: pipeline, project: TestIssuer.project)
        try pipeline.start()
        let keys = directory.path + "/keys"
        try FileManager.default.createDirectory(atPath: keys, withIntermediateDirectories: true)
        for (name, issuer) in [("signing-key.pem", TestIssuer.shared), ("next-signing-key.pem", TestIssuer.next)] {
            let key = try issuer.get().key
            _ = FileManager.default.createFile(
                atPath: "\(keys)/\(name)", contents: Data(key.pem), attributes: [.posixPermissions: 0o600])
        }
        let issuer = AppCheckIssuer(
            project: TestIssuer.project, projectNumber: number, keys: try SigningKeys(in: keys),
            apps: [Self.app: .init(lifetime: 7200, debugTokens: ["first", "second"]), "1:1:ios:none": .init()])
        let verifier = TokenVerifier(
            kind: .appCheck(project: TestIssuer.project, projectNumber: number), policy: .production,
            localKeys: issuer.keys.verification, localSubjects: issuer.appIDs, remoteKeys: nil,
            now: { TestIssuer.start })
        let exchange = AppCheckExchange(
            issuer, customTokens: customTokens, verifier: verifier, consumption: StoredTokenConsumption(users),
            isServer: { $0 == "server" }, now: { TestIssuer.start })
        try await Application(responder: AppCheckPort(exchange, before: Other())).test(.router) { client in
            try await body(
                Service(client: client, verifier: verifier, users: users, keys: issuer.keys.verification))
        }
        await pipeline.shutdown()
        try engine.close()
    }

    @Test(arguments: [
        (#"{"debugToken":"first"}"#, "7200s", 7200), (#"{"debug_token":"second"}"#, "7200s", 7200),
        (#"{"debugToken":"first","limitedUse":true}"#, "300s", 300),
        (#"{"debug_token":"first","limited_use":true}"#, "300s", 300),
    ])
    func aDebugTokenIsExchanged(body: String, ttl: String, lifetime: Int64) async throws {
        try await serving { service in
            let answer = try await service.post("\(Self.path):exchangeDebugToken?key=any", body)
            #expect(answer.status == 200)
            #expect(answer.body["ttl"] == .string(ttl))
            #expect(answer.headers[.cacheControl] == "no-store")
            let token = try #require(answer.body["token"]?.stringValue)
            guard case .valid(let verified) = service.verifier.verify(token) else {
                Issue.record("the token is refused")
                return
            }
            #expect(verified.subject == Self.app)
            #expect(verified.expires == TestIssuer.start + lifetime)
            let claims = try JSONValue(parsing: Array(verified.claims.readableBytesView))
            #expect(claims["aud"] == ["projects/123456", .string("projects/\(TestIssuer.project)")])
            #expect(claims["iss"] == "https://firebaseappcheck.googleapis.com/123456")
        }
    }

    @Test func aTokenOfARemovedAppIsRefused() async throws {
        try await serving { service in
            let answer = try await service.post("\(Self.path):exchangeDebugToken", #"{"debugToken":"first"}"#)
            let token = try #require(answer.body["token"]?.stringValue)
            let verifier = TokenVerifier(
                kind: .appCheck(project: TestIssuer.project, projectNumber: "123456"), policy: .production,
                localKeys: service.keys, localSubjects: ["1:1:ios:none"], remoteKeys: nil, now: { TestIssuer.start })
            #expect(verifier.verify(token) == .invalid(.app))
        }
    }

    @Test(arguments: [nil, "123456"]) func eachTokenIsAnother(number: String?) async throws {
        try await serving(number: number) { service in
            var tokens: Set<String> = []
            for _ in 0..<3 {
                let answer = try await service.post("\(Self.path):exchangeDebugToken", #"{"debugToken":"first"}"#)
                let token = try #require(answer.body["token"]?.stringValue)
                if case .valid = service.verifier.verify(token) {} else { Issue.record("the token is refused") }
                tokens.insert(token)
            }
            #expect(tokens.count == 3)
        }
    }

    @Test(arguments: [
        ("\(path):exchangeDebugToken", #"{"debugToken":"third"}"#, 403, "App attestation failed."),
        ("\(path):exchangeDebugToken", #"{}"#, 400, "debugToken is missing."),
        ("\(path):exchangeDebugToken", "nonsense", 400, "not JSON"),
        (
            "/v1/projects/\(TestIssuer.project)/apps/1:1:ios:none:exchangeDebugToken", #"{"debugToken":"first"}"#, 403,
            "App"
        ),
        (
            "/v1/projects/\(TestIssuer.project)/apps/1:2:web:x:exchangeDebugToken", #"{"debugToken":"first"}"#, 404,
            "Not"
        ),
        ("/v1/projects/other/apps/\(app):exchangeDebugToken", #"{"debugToken":"first"}"#, 404, "Not Found"),
        ("\(path):exchangeCustomToken", #"{"customToken":"a.b.c"}"#, 403, "App attestation failed."),
        ("\(path):exchangeCustomToken", #"{"debugToken":"first"}"#, 400, "customToken is missing."),
        ("/v1beta/projects/\(TestIssuer.project):verifyAppCheckToken", #"{"appCheckToken":"x"}"#, 401, "access token"),
    ])
    func refusalsHaveTheFormOfGoogles(path: String, body: String, status: Int, message: String) async throws {
        try await serving { service in
            let answer = try await service.post(path, body)
            #expect(answer.status == status)
            #expect(answer.body["error"]?["code"]?.intValue == status)
            #expect(answer.body["error"]?["message"]?.stringValue?.contains(message) == true, "\(answer.body)")
        }
    }

    /// A custom token as Google's admin libraries make it.
    private static func customToken(_ changes: [String: (any Sendable)?] = [:]) throws -> String {
        var claims: TestIssuer.Claims = [
            "iss": "shop@example.com", "sub": "shop@example.com", "app_id": app, "aud": AppCheckExchange.audience,
            "iat": TestIssuer.start - 10, "exp": TestIssuer.start + 290,
        ]
        for (name, value) in changes { claims[name] = value }
        return try TestIssuer.shared.get().token(claims)
    }

    private static var keys: CustomTokens {
        CustomTokens { issuer, _ in
            guard issuer == "shop@example.com", let key = try? TestIssuer.shared.get().key else { return [] }
            return [key.publicKey]
        }
    }

    @Test func aServersCustomTokenIsExchanged() async throws {
        try await serving(customTokens: Self.keys) { service in
            let asked = try await service.post(
                "\(Self.path):exchangeCustomToken", #"{"customToken":"\#(try Self.customToken(["ttl": "1800s"]))"}"#)
            #expect(asked.body["ttl"] == "1800s")
            let token = try await service.post(
                "\(Self.path):exchangeCustomToken", #"{"custom_token":"\#(try Self.customToken())"}"#)
            #expect(token.body["ttl"] == "7200s")
            if case .valid = service.verifier.verify(token.body["token"]?.stringValue ?? "") {
            } else {
                Issue.record("the token is refused")
            }
        }
    }

    @Test func wrongCustomTokensAreRefused() async throws {
        try await serving(customTokens: Self.keys) { service in
            let wrong: [[String: (any Sendable)?]] = [
                ["app_id": "1:1:ios:none"], ["app_id": nil], ["aud": "other"], ["exp": TestIssuer.start - 1],
                ["iss": "eve@example.com", "sub": "eve@example.com"], ["sub": "eve@example.com"],
            ]
            for changes in wrong {
                let answer = try await service.post(
                    "\(Self.path):exchangeCustomToken", #"{"customToken":"\#(try Self.customToken(changes))"}"#)
                #expect(answer.status == 403, "\(changes)")
            }
            let short = try await service.post(
                "\(Self.path):exchangeCustomToken", #"{"customToken":"\#(try Self.customToken(["ttl": "5s"]))"}"#)
            #expect(short.status == 400)
        }
    }

    @Test func aReplayIsNoticedAfterARestart() async throws {
        let directory = try TemporaryDirectory()
        let path = "/v1beta/projects/123456:verifyAppCheckToken"
        let server: HTTPFields = [.authorization: "Bearer server"]
        let issuer = try TestIssuer.shared.get()
        let token = try issuer.token(TestIssuer.appCheckClaims.merging(["sub": Self.app]) { $1 })
        for expected in [JSONValue.object([:]), ["alreadyConsumed": true]] {
            try await serving(in: directory) { service in
                let answer = try await service.post(path, #"{"app_check_token":"\#(token)"}"#, headers: server)
                #expect(answer.status == 200)
                #expect(answer.body == expected)
            }
        }
        try await serving(in: directory) { service in
            let answer = try await service.post(path, #"{"appCheckToken":"x"}"#, headers: server)
            #expect(answer.status == 400)
        }
    }

    @Test func browsersAndOtherPathsAreServed() async throws {
        try await serving { service in
            let headers: HTTPFields = [
                .origin: "https://shop.example.com", .accessControlRequestMethod: "POST",
                .accessControlRequestHeaders: "content-type",
            ]
            let preflight = try await service.client.execute(
                uri: "\(Self.path):exchangeDebugToken", method: .options, headers: headers)
            #expect(preflight.status == .noContent)
            #expect(preflight.headers[.accessControlAllowHeaders] == "content-type")
            let keys = try await service.client.execute(uri: "/v1/jwks", method: .get)
            #expect(keys.status == .ok)
            let kid = try TestIssuer.shared.get().key.keyID
            #expect(try JSONValue(parsing: Array(keys.body.readableBytesView))["keys"]?[0]?["kid"] == .string(kid))
            for path in ["/", "/v1/projects", "/v1/projects/p/apps/a:other", "/identitytoolkit.googleapis.com/v1/jwks"]
            {
                #expect(try await service.client.execute(uri: path, method: .get).status == .gone)
            }
        }
    }
}

struct StoredTokenConsumptionTests {
    @Test func expiredTokensAreForgotten() async throws {
        let directory = try TemporaryDirectory()
        let clock = MovedTime()
        let engine = try SQLiteEngine(file: directory.path + "/store.sqlite")
        let pipeline = try CommitPipeline(
            engine: engine, now: { Timestamp(seconds: 1_000_000 + clock.seconds, nanoseconds: 0) },
            elapsed: { .seconds(clock.seconds) })
        let users = try UserStore(on: pipeline, project: "p")
        try pipeline.start()
        let consumption = StoredTokenConsumption(users)
        func consume(_ token: String, lifetime: Int64) async -> Bool? {
            await withCheckedContinuation { continuation in
                consumption.consume(token, expires: 1_000_000 + clock.seconds + lifetime) {
                    continuation.resume(returning: $0)
                }
            }
        }
        #expect(await consume("a", lifetime: 100) == false)
        #expect(await consume("b", lifetime: 10_000) == false)
        #expect(await consume("a", lifetime: 100) == true)
        clock.advance(by: 200)
        // Any commit sweeps.
        #expect(await consume("c", lifetime: 100) == false)
        #expect(await consume("b", lifetime: 100) == true)
        #expect(await consume("a", lifetime: 100) == false)
        await pipeline.shutdown()
        #expect(await consume("d", lifetime: 100) == nil)
        try engine.close()
    }
}

/// A time that a test moves.
private final class MovedTime: Sendable {
    private let passed = Atomic<Int64>(0)

    var seconds: Int64 { passed.load(ordering: .relaxed) }

    func advance(by seconds: Int64) { passed.add(seconds, ordering: .relaxed) }
}
