import FunctionManifest
@testable import Gateway
import HostTesting
import Testing
import TokenVerification
import WorkerTesting

/// Calls of Google's sign-in, as a bundle that is served alone answers them.
@Suite struct BlockingCallTests {
    /// Anyone may send it, and reading its JSON as values takes long.
    @Test(arguments: [(100, 401), (70_000, 400)]) func aBodyThatNoTokenNeedsIsNotRead(bytes: Int, status: Int) throws {
        var verifiers = GatewayRing.developmentVerifiers
        verifiers.blockingEvent = TokenVerifier(
            kind: .blockingEvent(project: GatewayRing.project), policy: .development, remoteKeys: nil)
        let function = FunctionManifest.test("f", .blocking(.init(moment: .beforeCreate)))
        try GatewayRing.with([function], verifiers: verifiers) { ring in
            let body = #"{"data":{"jwt":"x","more":"\#(String(repeating: "x", count: bytes))"}}"#
            let client = try ring.send(
                "POST", GatewayRing.path("f"), ["Content-Type": "application/json"], body)
            #expect(client.answer?.status == status)
            #expect(ring.processes.workers.isEmpty)
        }
    }

    /// Google's servers send the calls of all clients, so the event says whose call it is.
    @Test func aCallCountsForTheClientThatSignsIn() throws {
        var verifiers = GatewayRing.developmentVerifiers
        verifiers.blockingEvent = TokenVerifier(
            kind: .blockingEvent(project: GatewayRing.project), policy: .development, remoteKeys: nil)
        var function = FunctionManifest.test("f", .blocking(.init(moment: .beforeCreate)))
        function.rateLimits = [RateLimitManifest(per: .address, count: 1, seconds: 60)]
        try GatewayRing.with([function], verifiers: verifiers) { ring in
            ring.processes.handler = { $0.end("{}") }
            var statuses: [Int?] = []
            for address in ["192.0.2.1", "192.0.2.1", "192.0.2.2"] {
                let token = try TestIssuer.unsigned([
                    "iss": "https://securetoken.google.com/\(GatewayRing.project)", "aud": "https://example.com/f",
                    "sub": "ada", "iat": 1_000_000_000, "exp": 4_000_000_000, "event_type": "beforeCreate",
                    "ip_address": address,
                ])
                let client = try ring.send(
                    "POST", GatewayRing.path("f"), ["Content-Type": "application/json"],
                    #"{"data":{"jwt":"\#(token)"}}"#)
                statuses.append(client.answer?.status)
            }
            #expect(statuses == [200, 429, 200])
        }
    }
}
