import DocumentModel
@testable import Gateway
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing
import WorkerProtocol
import Workers
import WorkerTesting

/// Clients that leave before their answer, and handlers past their deadline.
@Suite struct HangUpTests {
    @Test(arguments: [true, false]) func hangingUpCancelsTheHandler(streams: Bool) throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.call("f", "1", streams ? ["Accept": "text/event-stream"] : [:])
            let invocation = try #require(ring.next())
            invocation.send(chunk: "1")
            ring.run()
            #expect(invocation.cancellation == nil)
            client.hangUp()
            #expect(invocation.cancellation == .clientGone)
            // What the handler still sends is ignored.
            invocation.send(chunk: "2")
            invocation.end("3")
            ring.run()
            #expect(invocation.worker.isRunning)
            let next = try ring.call("f")
            try #require(ring.next()).end("4")
            ring.run()
            #expect(next.answer?.body == #"{"result":4}"#)
        }
    }

    /// The head of a stream is written before the invocation exists, and a write may find that the client is gone.
    @Test func aClientThatLeavesWhileItsStreamBeginsCancelsTheHandler() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            ring.processes.handler = { $0.end("1") }
            #expect(try ring.call("f").answer?.body == #"{"result":1}"#)
            ring.processes.handler = nil
            let client = try ring.connect()
            client.hangUpWhenAnswered()
            client.send(
                "POST", GatewayRing.path("f"), ["Content-Type": "application/json", "Accept": "text/event-stream"],
                body: ByteBuffer(string: #"{"data":1}"#))
            #expect(client.isClosed)
            #expect(client.received == "")
            let invocation = try #require(ring.next())
            #expect(invocation.cancellation == .clientGone)
            // Its place in the worker is free once it has stopped.
            invocation.fail(.cancelled, "CANCELLED")
            ring.run()
            let next = try ring.call("f")
            try #require(ring.next()).end("2")
            ring.run()
            #expect(next.answer?.body == #"{"result":2}"#)
        }
    }

    /// Nothing would stop it any more.
    @Test func aStreamThatIsStoppedWhileItBeginsHasNoHeartbeat() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let channel = EmbeddedChannel(loop: ring.loop)
            let socket = WatchedSocket()
            let connection = GatewayHandler(loop: ring.gateway)
            try channel.pipeline.syncOperations.addHandler(socket)
            try channel.pipeline.syncOperations.addHandler(connection)
            let address = try SocketAddress(ipAddress: "127.0.0.1", port: 50_000)
            channel.remoteAddress = address
            channel.connect(to: address, promise: nil)
            let stream = EventStream(connection: connection, loop: ring.loop)
            socket.onWrite = { stream.stop() }
            stream.begin(headers: [:], heartbeat: 30)
            socket.onWrite = {}
            ring.advance(.seconds(60))
            #expect(socket.writes == 1)
            channel.close(promise: nil)
        }
    }

    @Test func whoLeavesAnHTTPFunctionCancelsItToo() throws {
        try GatewayRing.with([.http("f")]) { ring in
            let client = try ring.send("GET", GatewayRing.path("f"))
            let invocation = try #require(ring.next())
            client.hangUp()
            #expect(invocation.cancellation == .clientGone)
        }
    }

    /// A handler that goes on after its client has left doesn't wait for it.
    @Test func whatNobodyReadsIsCreditedAtOnce() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.call("f", "1", ["Accept": "text/event-stream"])
            let invocation = try #require(ring.next())
            client.hangUp()
            let chunk = String(repeating: "1", count: 65_536)
            for number in 1...8 {
                invocation.send(chunk: chunk)
                ring.run()
                #expect(invocation.credit == number * 65_536)
            }
            #expect(invocation.worker.isRunning)
        }
    }

    @Test func aCallThatWaitsForAWorkerIsForgotten() throws {
        try GatewayRing.with([.callable("f", concurrency: 1, maxInstances: 1)]) { ring in
            let first = try ring.call("f", "1")
            let second = try ring.call("f", "2")
            let third = try ring.call("f", "3")
            second.hangUp()
            let invocation = try #require(ring.next())
            #expect(invocation.text == "1")
            invocation.end("1")
            ring.run()
            #expect(first.answer?.body == #"{"result":1}"#)
            let next = try #require(ring.next())
            #expect(next.text == "3")
            next.end("3")
            ring.run()
            #expect(third.answer?.body == #"{"result":3}"#)
            #expect(ring.next() == nil)
        }
    }

    /// A handler may go on until its deadline after its client has left; then its worker is given up.
    @Test func aHandlerThatIgnoresItsCancellationIsKilledAfterItsDeadline() throws {
        try GatewayRing.with([.callable("f", timeoutSeconds: 10)]) { ring in
            let client = try ring.call("f")
            let invocation = try #require(ring.next())
            client.hangUp()
            ring.advance(.milliseconds(11_900))
            #expect(invocation.worker.isRunning)
            ring.advance(.milliseconds(300))
            #expect(!invocation.worker.isRunning)
            #expect(invocation.worker.end == .overdue)
        }
    }

    @Test func aHandlerPastItsDeadlineIsAnsweredFor() throws {
        try GatewayRing.with([.callable("f", timeoutSeconds: 1)]) { ring in
            let client = try ring.call("f")
            let invocation = try #require(ring.next())
            ring.advance(.milliseconds(990))
            #expect(client.answer == nil)
            #expect(invocation.cancellation == nil)
            ring.advance(.milliseconds(20))
            #expect(client.answer?.status == 504)
            #expect(
                client.answer?.body
                    == #"{"error":{"message":"DEADLINE_EXCEEDED","status":"DEADLINE_EXCEEDED"}}"#)
            #expect(invocation.cancellation == .deadline)
            // A late answer is ignored.
            invocation.end("1")
            ring.advance(.seconds(5))
            #expect(client.received == client.answer?.text)
            #expect(invocation.worker.isRunning)
        }
    }

    @Test func aHandlerThatIgnoresItsDeadlineIsKilled() throws {
        try GatewayRing.with([.callable("f", timeoutSeconds: 1)]) { ring in
            let client = try ring.call("f")
            let worker = try #require(ring.worker)
            ring.advance(.milliseconds(2_900))
            #expect(client.answer?.status == 504)
            #expect(worker.isRunning)
            ring.advance(.milliseconds(200))
            #expect(!worker.isRunning)
            #expect(worker.end == .overdue)
            // Another worker takes the next call.
            let next = try ring.call("f")
            try #require(ring.worker?.next()).end("1")
            ring.run()
            #expect(next.answer?.body == #"{"result":1}"#)
            #expect(ring.processes.workers.count == 2)
        }
    }

    /// Its neighbours in the worker get the time until their own deadlines.
    @Test func aWorkerIsKilledOnlyOnceNobodyElseUsesIt() throws {
        try GatewayRing.with([.callable("f", timeoutSeconds: 10)]) { ring in
            let first = try ring.call("f")
            ring.advance(.seconds(5))
            let second = try ring.call("f")
            let invocations = [try #require(ring.next()), try #require(ring.next())]
            let worker = invocations[0].worker
            #expect(invocations[1].worker === worker)
            ring.advance(.seconds(8))
            #expect(first.answer?.status == 504)
            #expect(worker.isRunning)
            invocations[1].end("2")
            ring.run()
            #expect(second.answer?.body == #"{"result":2}"#)
            #expect(!worker.isRunning)
            #expect(worker.end == .overdue)
        }
    }
}

/// The end of a connection that sees what is written to it.
private final class WatchedSocket: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    var onWrite: () -> Void = {}
    private(set) var writes = 0

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        writes += 1
        context.write(data, promise: promise)
        onWrite()
    }
}
