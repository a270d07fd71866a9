import Foundation
import FunctionManifest
import HostTesting
import Logging
import TestSupport
import Testing
import TokenVerification
import WorkerProtocol
import WorkerTesting

@testable import Gateway

/// What the gateway makes of tokens that it can't verify, and of those that are valid once.
@Suite(.endsHangs) struct IdentityTests {
    private struct SilentIssuer: KeySource {
        func fetch() async throws(KeySourceError) -> FetchedKeys { throw KeySourceError("the issuer is out") }
    }

    private struct KnownIssuer: KeySource {
        var keys: KeySet
        func fetch() async throws(KeySourceError) -> FetchedKeys { FetchedKeys(keys: keys, maxAge: 3600) }
    }

    /// A cache whose issuer can't be reached.
    private static func cacheWithoutKeys() async -> KeyCache {
        let cache = KeyCache(source: SilentIssuer(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let run = Task { try await cache.run() }
        run.cancel()
        _ = await run.result
        return cache
    }

    /// Without keys a token is neither valid nor invalid: its caller is neither a user nor unauthenticated.
    @Test func aTokenThatCannotBeVerifiedIsNeitherAcceptedNorIgnored() async throws {
        var verifiers = GatewayRing.developmentVerifiers
        verifiers.idToken = TokenVerifier(
            kind: .idToken(project: TestIssuer.project), policy: .production, remoteKeys: await Self.cacheWithoutKeys(),
            now: { TestIssuer.start })
        let token = try TestIssuer.shared.get().token()
        try GatewayRing.with([.callable("call"), .http("get")], verifiers: verifiers) { ring in
            let headers = ["Authorization": "Bearer \(token)"]
            let call = try ring.call("call", "1", headers)
            #expect(call.answer?.status == 503)
            let get = try ring.send("GET", GatewayRing.path("get"), headers)
            #expect(get.answer?.status == 503)
            #expect(ring.processes.workers.isEmpty)
        }
    }

    // MARK: Session cookies

    private static func cookie(_ issuer: TestIssuer, at time: Int64 = TestIssuer.start) throws -> [String: String] {
        var claims = TestIssuer.idTokenClaims
        claims["iss"] = "https://session.firebase.google.com/\(TestIssuer.project)"
        for (name, offset) in [("iat", -10), ("exp", 3590), ("auth_time", -100)] { claims[name] = time + Int64(offset) }
        return ["Cookie": "a=b; __session=\(try issuer.token(claims)); c=d"]
    }

    /// A cache that has the issuer's keys.
    private static func cache(_ issuer: TestIssuer) async throws -> KeyCache {
        let cache = KeyCache(
            source: KnownIssuer(keys: issuer.key.keys),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let verifier = TokenVerifier(
            kind: .idToken(project: TestIssuer.project), policy: .production, remoteKeys: cache,
            now: { TestIssuer.start })
        let run = Task { try await cache.run() }
        while await verifier.verifyAfterFetch(try issuer.token()) == .unavailable { await Task.yield() }
        run.cancel()
        _ = await run.result
        return cache
    }

    /// Google signs them with other keys than ID tokens.
    @Test func sessionCookiesHaveKeysOfTheirOwn() async throws {
        let (users, sessions) = (try TestIssuer.shared.get(), try TestIssuer.next.get())
        var sources = TokenSources(
            project: TestIssuer.project, policy: .production, idTokenKeys: try await Self.cache(users))
        sources.sessionCookieKeys = try await Self.cache(sessions)
        #expect(sources.keyCaches.count == 2)
        let now = Int64(Date.now.timeIntervalSince1970)
        let cookies = [try Self.cookie(sessions, at: now), try Self.cookie(users, at: now)]
        try GatewayRing.with([.http("get")], verifiers: TokenVerifiers(sources)) { ring in
            var found: [String?] = []
            ring.processes.handler = {
                found.append($0.head.auth?.id)
                $0.send(status: 200)
                $0.end("")
            }
            for cookie in cookies {
                let answer = try ring.send("GET", GatewayRing.path("get"), cookie).answer
                // A key that isn't known might be a new one, which can't be fetched now.
                #expect(answer?.status == 200 || answer?.status == 503)
            }
            #expect(found.first == "ada")
            #expect(!found.dropFirst().contains("ada"))
        }
    }

    @Test func aCookieThatCannotBeVerifiedIsNeitherAcceptedNorIgnored() async throws {
        var verifiers = GatewayRing.developmentVerifiers
        verifiers.sessionCookie = TokenVerifier(
            kind: .sessionCookie(project: TestIssuer.project), policy: .production,
            remoteKeys: await Self.cacheWithoutKeys(),
            now: { TestIssuer.start })
        let cookie = try Self.cookie(try TestIssuer.shared.get())
        try GatewayRing.with([.http("get")], verifiers: verifiers) { ring in
            ring.processes.handler = {
                #expect($0.head.auth == nil)
                $0.send(status: 200)
                $0.end("")
            }
            #expect(try ring.send("GET", GatewayRing.path("get"), cookie).answer?.status == 503)
            // Text that isn't a token identifies no user.
            let other = try ring.send("GET", GatewayRing.path("get"), ["Cookie": "__session=abc"])
            #expect(other.answer?.status == 200)
        }
    }

    @Test func aHandlerLearnsThatATokenWasConsumedBefore() throws {
        let issuer = try TestIssuer.shared.get()
        var verifiers = GatewayRing.developmentVerifiers
        verifiers.appCheck = TokenVerifier(
            kind: .appCheck(project: TestIssuer.project), policy: .production, localKeys: LocalKeys(issuer.key.keys),
            remoteKeys: nil, now: { TestIssuer.start })
        var claims = TestIssuer.appCheckClaims
        claims["aud"] = ["projects/\(TestIssuer.project)"]
        let token = try issuer.token(claims)
        let consuming = FunctionManifest.test(
            "f",
            .callable(.init(cors: .any, enforceAppCheck: true, consumeAppCheckToken: true, heartbeatSeconds: nil)))
        try GatewayRing.with([consuming], verifiers: verifiers) { ring in
            var consumed: [Bool] = []
            ring.processes.handler = {
                consumed.append($0.head.appTokenConsumed)
                $0.end("1")
            }
            for _ in 1...2 {
                let client = try ring.call("f", "1", ["X-Firebase-AppCheck": token])
                #expect(client.answer?.status == 200)
            }
            #expect(consumed == [false, true])
        }
    }
}
