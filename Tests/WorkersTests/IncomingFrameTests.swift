import FunctionManifest
import NIOCore
import Testing
import WorkerProtocol
import WorkerTesting

@testable import Workers

/// Frames that workers have begun to send.
@Suite struct IncomingFrameTests {
    private static let largest = Frame.maxLength + 4
    private static let functions = ["a", "b", "c", "d"].map { name in
        FunctionManifest(
            name: name, regions: [GatewayRing.region], memoryMiB: 256, timeoutSeconds: 600, cpu: 1, concurrency: 1,
            minInstances: 0, maxInstances: 2, labels: [:], secrets: [], ingress: "all", invoker: [],
            isTransactional: false, trigger: .http(.init(cors: .off)))
    }

    /// A request, and the worker that answers it.
    private struct Call {
        let client: RingClient
        let invocation: ScriptedInvocation

        init(_ function: String, _ ring: GatewayRing) throws {
            client = try ring.send("GET", GatewayRing.path(function))
            invocation = try #require(ring.next())
        }

        /// Sends the beginning of an answer whose frame has so many bytes.
        func begin(_ length: Int) {
            var start = ByteBuffer()
            start.writeFrame(.result, invocation: invocation.id)
            start.setInteger(UInt32(length - 4), at: 0)
            invocation.worker.send(start)
        }

        /// Sends the rest of an answer that has begun.
        func finish(_ length: Int) {
            invocation.worker.send(ByteBuffer(repeating: UInt8(ascii: "1"), count: length - 13))
        }

        var isRead: Bool { !invocation.worker.worker.links[0].isPaused }
    }

    @Test func largeFramesThatAreNotWholeHaveABoundTogether() throws {
        try GatewayRing.with(Self.functions) { ring in
            let total = ring.services.frameBytes
            let calls = try ["a", "b", "c"].map { try Call($0, ring) }
            for call in calls { call.begin(Self.largest) }
            ring.run()
            // A function may have at most half of what is free.
            #expect(calls.map(\.isRead) == [true, true, false])
            #expect(total.held == 2 * Self.largest)
            // Smaller ones hold up nothing.
            let small = try Call("d", ring)
            small.begin(1_000_000)
            #expect(small.isRead)
            small.finish(1_000_000)
            ring.run()
            #expect(small.client.answer?.body.utf8.count == 1_000_000 - 13)
            #expect(total.held == 2 * Self.largest)
            // It is read once the memory of another is free.
            calls[0].invocation.worker.crash()
            ring.run()
            #expect(calls[2].isRead)
            #expect(total.held == 2 * Self.largest)
            for call in calls[1...] { call.invocation.worker.crash() }
            ring.run()
            #expect(total.held == 0)
        }
    }

    @Test func aFunctionsLargeFramesDelayNoOtherFunction() throws {
        try GatewayRing.with(Self.functions) { ring in
            let total = ring.services.frameBytes
            let calls = try (0..<2).map { _ in try Call("a", ring) }
            for call in calls { call.begin(Self.largest) }
            ring.run()
            #expect(calls.map(\.isRead) == [true, false])
            let other = try Call("b", ring)
            other.begin(20 << 20)
            #expect(other.isRead)
            // One that ends while it waits leaves nothing behind.
            for call in calls.reversed() { call.invocation.worker.crash() }
            other.invocation.worker.crash()
            ring.run()
            #expect(total.held == 0)
        }
    }

    @Test func aLargeFrameHoldsItsMemoryUntilItIsWhole() throws {
        try GatewayRing.with(Self.functions) { ring in
            let call = try Call("a", ring)
            call.begin(1_000_000)
            #expect(ring.services.frameBytes.held == 1_000_000)
            call.finish(1_000_000)
            #expect(ring.services.frameBytes.held == 0)
            ring.run()
            #expect(call.client.answer?.isWhole == true)
            ring.advance(.seconds(61))
            #expect(call.invocation.worker.isRunning)
        }
    }

    /// Others would wait for its memory.
    @Test func aWorkerThatDoesNotSendTheRestIsEnded() throws {
        try GatewayRing.with(Self.functions) { ring in
            let call = try Call("a", ring)
            call.begin(Self.largest)
            ring.advance(.seconds(59))
            #expect(call.invocation.worker.isRunning)
            ring.advance(.seconds(2))
            #expect(call.invocation.worker.end == .violation("a frame hasn't arrived within 60 s"))
            #expect(ring.services.frameBytes.held == 0)
        }
    }
}
