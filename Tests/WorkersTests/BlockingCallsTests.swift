import FunctionManifest
import Testing
import WorkerProtocol

@testable import FunctionsHost
@testable import Workers

/// Functions that the host's own sign-in asks, for the clients that sign in.
@Suite struct BlockingCallsTests {
    private func ask(_ ring: InvocationRing, from address: String, _ log: PlayedClient.Log) {
        BlockingCalls.ask(ring.function, Array("{}".utf8), from: IPAddress(address), on: ring.loop) {
            log.add("\(address) \(PlayedClient.text($0))")
        }
        ring.run()
    }

    @Test func oneAddressLeavesPlacesInTheQueueToOthers() {
        let (ring, log) = (InvocationRing(queue: 4), PlayedClient.Log())
        // One runs, two wait.
        for _ in 0..<5 { ask(ring, from: "192.0.2.1", log) }
        ask(ring, from: "192.0.2.2", log)
        let refusal = "192.0.2.1 notStarted Too many calls are waiting."
        #expect(log.entries == [refusal, refusal])
    }

    @Test func callerLimitsCountTheAddressThatSignsIn() throws {
        let limit = RateLimitManifest(per: .address, count: 1, seconds: 60)
        let (ring, log) = (InvocationRing(rateLimits: [limit], concurrency: 10), PlayedClient.Log())
        for address in ["192.0.2.1", "192.0.2.1", "192.0.2.2"] { ask(ring, from: address, log) }
        #expect(log.entries.count == 1)
        #expect(try #require(log.entries.first).hasPrefix("192.0.2.1 notStarted "))
    }
}
