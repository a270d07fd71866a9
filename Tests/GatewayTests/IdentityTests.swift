import FunctionManifest
import Gateway
import HostTesting
import Logging
import TestSupport
import Testing
import TokenVerification
import WorkerProtocol
import WorkerTesting

/// What the gateway makes of tokens that it can't verify, and of those that are valid once.
@Suite(.endsHangs) struct IdentityTests {
    private struct SilentIssuer: KeySource {
        func fetch() async throws(KeySourceError) -> FetchedKeys { throw KeySourceError("the issuer is out") }
    }

    /// Without keys a token is neither valid nor invalid: its caller is neither a user nor unauthenticated.
    @Test func aTokenThatCannotBeVerifiedIsNeitherAcceptedNorIgnored() async throws {
        let cache = KeyCache(source: SilentIssuer(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let run = Task { try await cache.run() }
        run.cancel()
        _ = await run.result
        var verifiers = GatewayRing.developmentVerifiers
        verifiers.idToken = TokenVerifier(
            kind: .idToken(project: TestIssuer.project), policy: .production, remoteKeys: cache,
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
