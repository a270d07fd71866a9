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
}
