import DocumentModel
import NIOCore
import Testing
import WorkerProtocol
import WorkerTesting

/// Secrets that a handler's error contains.
@Suite struct SecretTests {
    @Test func anErrorLeavesTheHostWithoutThem() throws {
        let secret = "correct horse battery staple"
        try GatewayRing.with([.callable("f")], secrets: ["KEY": secret]) { ring in
            let client = try ring.call("f")
            try #require(ring.next()).fail(
                .failedPrecondition, "refused: \(secret)", details: #"{"sent":"\#(secret)"}"#)
            ring.run()
            let answer = try #require(client.answer)
            #expect(answer.status == 400)
            #expect(!answer.body.contains("horse"))
            #expect(
                answer.body
                    == #"{"error":{"details":{"sent":"●●●"},"message":"refused: ●●●","status":"FAILED_PRECONDITION"}}"#)
        }
    }
}
