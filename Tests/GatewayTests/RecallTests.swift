import NIOCore
import Testing
import WorkerProtocol
import Workers
import WorkerTesting

/// Calls that were sent to a worker whose threads are blocked.
@Suite struct RecallTests {
    @Test func callsBehindAHandlerThatBlocksAllThreadsSucceedElsewhere() throws {
        try GatewayRing.with([.callable("f", timeoutSeconds: 5)]) { ring in
            let blocking = try ring.call("f", "0")
            let clients = try (1...5).map { try ring.call("f", "\($0)") }
            let blocked = try #require(ring.worker)
            let invocations = (0...5).compactMap { _ in blocked.next() }
            #expect(invocations.map(\.text) == (0...5).map { "\($0)" })
            ring.advance(.milliseconds(490))
            #expect(invocations.allSatisfy { !$0.isRecalled })
            ring.advance(.milliseconds(30))
            // All are asked for; the one that has begun isn't given back.
            #expect(invocations.allSatisfy { $0.isRecalled })
            for invocation in invocations.dropFirst().reversed() { invocation.returnToHost() }
            ring.run()
            let other = try #require(ring.worker)
            #expect(other !== blocked)
            let again = (1...5).compactMap { _ in other.next() }
            #expect(again.map(\.text) == (1...5).map { "\($0)" })
            for invocation in again { invocation.end(invocation.text) }
            ring.run()
            #expect(clients.map { $0.answer?.body } == (1...5).map { #"{"result":\#($0)}"# })
            // The deadline still counts from the call.
            #expect(again.allSatisfy { $0.head.timeLeft > 4_000 && $0.head.timeLeft < 4_600 })
            #expect(blocking.answer == nil)
            ring.advance(.milliseconds(7_000))
            #expect(blocking.answer?.status == 504)
            #expect(blocked.end == .overdue)
            #expect(other.isRunning)
        }
    }

    @Test func aWorkerThatEndsOtherWorkIsNotBlocked() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let clients = try (0..<10).map { try ring.call("f", "\($0)") }
            let invocations = (0..<10).compactMap { _ in ring.next() }
            for invocation in invocations.dropLast() {
                ring.advance(.milliseconds(400))
                invocation.end("1")
            }
            ring.run()
            #expect(invocations.allSatisfy { !$0.isRecalled })
            #expect(clients.last?.answer == nil)
        }
    }

    @Test func whatIsGivenBackAfterItsClientHasLeftIsForgotten() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.call("f")
            let invocation = try #require(ring.next())
            ring.advance(.milliseconds(520))
            #expect(invocation.isRecalled)
            client.hangUp()
            invocation.returnToHost()
            ring.advance(.seconds(1))
            #expect(ring.next() == nil)
            #expect(invocation.worker.isRunning)
        }
    }
}
