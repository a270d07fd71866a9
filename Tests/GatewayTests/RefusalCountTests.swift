import DocumentModel
import FunctionManifest
import Gateway
import NIOCore
import Testing
import Workers
import WorkerTesting

/// Requests that never reach a handler, in the metrics.
@Suite struct RefusalCountTests {
    private func statuses(_ ring: GatewayRing, _ function: String) throws -> [CallRecord.Status: Int] {
        try #require(ring.function(function)).calls.counts.statuses
    }

    @Test func whatIsRefusedBeforeItsAdmissionIsCounted() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let json = ["Content-Type": "application/json"]
            let clients = [
                try ring.send("POST", GatewayRing.path("f"), json, "{}"), try ring.send("GET", GatewayRing.path("f")),
                try ring.call("f", "1", ["Authorization": "Bearer x"]),
                try ring.send("POST", GatewayRing.path("unknown"), json, "{}"),
                // A browser's preflight isn't counted.
                try ring.send("OPTIONS", GatewayRing.path("f")),
            ]
            #expect(clients.map { $0.answer?.status } == [400, 400, 401, 404, 204])
            let counted = try statuses(ring, "f")
            #expect(counted == [.failed(.invalidArgument): 2, .failed(.unauthenticated): 1])
            let text = ring.services.calls.text
            #expect(text.contains(#"functions_calls_total{function="f",status="UNAUTHENTICATED"} 1"#))
            #expect(!text.contains("unknown"))
        }
    }

    @Test func whatAdmissionRefusesIsCounted() throws {
        var limited = FunctionManifest.callable("limited")
        limited.rateLimits = [RateLimitManifest(per: .address, count: 1, seconds: 60)]
        try GatewayRing.with([limited, .callable("call"), .http("page")]) { ring in
            ring.processes.handler = { $0.end("1") }
            let clients = [try ring.call("limited"), try ring.call("limited")]
            #expect(clients.map { $0.answer?.status } == [200, 429])
            let counted = try statuses(ring, "limited")
            #expect(counted == [.ok: 1, .failed(.resourceExhausted): 1])
            for name in ["call", "page"] { try #require(ring.function(name)).gate.isPaused = true }
            let paused = [try ring.call("call"), try ring.send("GET", GatewayRing.path("page"))]
            #expect(paused.map { $0.answer?.status } == [503, 503])
            for name in ["call", "page"] {
                let counted = try statuses(ring, name)
                #expect(counted == [.failed(.unavailable): 1])
            }
        }
    }

    @Test func aBodyThatIsTooLargeIsCountedOnce() throws {
        try GatewayRing.with([.callable("f")], gatewayLimits: GatewayLimits(requestBody: 1000)) { ring in
            let client = try ring.call("f", "\"\(String(repeating: "x", count: 2000))\"")
            #expect(client.answer?.status == 413)
            let counted = try statuses(ring, "f")
            #expect(counted == [.failed(.invalidArgument): 1])
        }
    }

    /// The status DEADLINE_EXCEEDED is a failure of the function.
    @Test func aClientThatIsTooSlowIsNoTimeoutOfTheFunction() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.connect()
            client.send("POST \(GatewayRing.path("f")) HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhal")
            ring.advance(.seconds(61))
            ring.gateway.closeStaleConnections()
            ring.run()
            #expect(client.answer?.status == 408)
            let counted = try statuses(ring, "f")
            #expect(counted == [:])
        }
    }
}
