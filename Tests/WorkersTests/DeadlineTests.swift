import Workers
import NIOCore
import NIOEmbedded
import Testing
import Workers

/// Deadlines on a clock that stands still until the test moves it.
struct DeadlineTests {
    /// The time in the queue counts: no worker ever becomes ready for these calls.
    @Test(arguments: [1, 2, 3]) func theDeadlineCountsFromAdmissionAndIsKeptWithin50Milliseconds(
        seconds: Int
    ) throws {
        let ring = InvocationRing(timeoutSeconds: seconds, maxInstances: 0)
        let client = try ring.admit()
        var answeredAt: Int?
        for millisecond in 1...(seconds * 1000 + 100) {
            ring.eventLoop.advanceTime(by: .milliseconds(1))
            if answeredAt == nil, !client.heard.isEmpty { answeredAt = millisecond }
        }
        #expect(client.heard == ["answered notStarted DEADLINE_EXCEEDED", "ended notStarted DEADLINE_EXCEEDED"])
        let late = try #require(answeredAt) - 1000 * seconds
        #expect((0...50).contains(late), "\(late) ms")
        #expect(!ring.loop.isBusy)
    }
}
