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

    /// What replaces a secret is not a number, and clients read nothing of an error that isn't JSON.
    @Test func detailsThatAreNotJSONWithoutThemAreLeftOut() throws {
        try GatewayRing.with([.callable("f")], secrets: ["PIN": "4711081500"]) { ring in
            let client = try ring.call("f")
            try #require(ring.next()).fail(.notFound, "a", details: #"{"sent":4711081500}"#)
            ring.run()
            #expect(client.answer?.body == #"{"error":{"message":"a","status":"NOT_FOUND"}}"#)
        }
    }
}
