import DocumentModel
import FunctionManifest
@testable import Gateway
import NIOCore
import Sharing
import Testing
import WorkerProtocol
import Workers
import WorkerTesting

/// Callables that answer in parts.
@Suite struct StreamingTests {
    private static let stream = ["Accept": "text/event-stream"]
    /// Bytes of an event around its JSON.
    private static let frame = #"data: {"message":}"#.utf8.count + 2

    @Test func chunksComeBeforeTheResult() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.call("f", "3", Self.stream)
            let invocation = try #require(ring.next())
            #expect(invocation.head.streams)
            #expect(client.answer?.status == 200)
            #expect(client.answer?["Content-Type"] == "text/event-stream")
            #expect(client.answer?["Cache-Control"] == "no-cache")
            #expect(client.answer?["X-Accel-Buffering"] == "no")
            #expect(client.answer?.body == "")
            for number in [2, 1] { invocation.send(chunk: "\(number)") }
            ring.run()
            #expect(client.answer?.body == "data: {\"message\":2}\n\ndata: {\"message\":1}\n\n")
            #expect(client.answer?.isWhole == false)
            invocation.end(#""liftoff""#)
            ring.run()
            #expect(
                client.answer?.body
                    == "data: {\"message\":2}\n\ndata: {\"message\":1}\n\ndata: {\"result\":\"liftoff\"}\n\n")
            #expect(client.answer?.isWhole == true)
            // The connection goes on.
            #expect(!client.isClosed)
        }
    }

    @Test(arguments: ["*/*", "text/event-stream, */*", "TEXT/event-stream"])
    func whoDoesNotStreamGetsTheResultAlone(accept: String) throws {
        try GatewayRing.with([.callable("f")]) { ring in
            ring.processes.handler = {
                $0.send(chunk: "1")
                $0.end("2")
            }
            let answer = try #require(try ring.call("f", "3", ["Accept": accept]).answer)
            #expect(answer.body == #"{"result":2}"#)
            #expect(answer["Content-Type"] == "application/json; charset=utf-8")
        }
    }

    @Test func anErrorIsTheLastEventOfAStream() throws {
        try GatewayRing.with([.callable("f", timeoutSeconds: 1)]) { ring in
            let broken = try ring.call("f", "1", Self.stream)
            let invocation = try #require(ring.next())
            invocation.send(chunk: "1")
            invocation.fail(.dataLoss, "It broke.", details: #"{"after":1}"#)
            ring.run()
            #expect(broken.answer?.status == 200)
            #expect(
                broken.answer?.body
                    == "data: {\"message\":1}\n\n"
                    + "data: {\"error\":{\"details\":{\"after\":1},\"message\":\"It broke.\",\"status\":\"DATA_LOSS\"}}\n\n"
            )
            let late = try ring.call("f", "1", Self.stream)
            ring.advance(.milliseconds(1100))
            #expect(late.answer?.status == 200)
            #expect(
                late.answer?.body
                    == "data: {\"error\":{\"message\":\"DEADLINE_EXCEEDED\",\"status\":\"DEADLINE_EXCEEDED\"}}\n\n")
            let lost = try ring.call("f", "1", Self.stream)
            try #require(ring.worker).crash()
            ring.run()
            #expect(lost.answer?.body == "data: \(CallableErrorTests.hidden)\n\n")
            for client in [broken, late, lost] { #expect(client.answer?.isWhole == true) }
        }
    }

    @Test func anErrorIsOneLineForEachClient() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.call("f", "1", Self.stream)
            try #require(ring.next()).fail(.notFound, "a\u{85}b\u{2028}c\u{2029}d")
            ring.run()
            #expect(
                client.answer?.body
                    == #"data: {"error":{"message":"a\u0085b\u2028c\u2029d","status":"NOT_FOUND"}}"# + "\n\n")
        }
    }

    @Test func aRefusedRequestIsAnEventToo() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.send(
                "POST", GatewayRing.path("f"),
                ["Content-Type": "application/json", "Accept": "text/event-stream"], #"{"dat":1}"#)
            #expect(client.answer?.status == 200)
            #expect(client.answer?.body == "data: \(CallableProtocolTests.badRequest)\n\n")
            #expect(ring.processes.workers.isEmpty)
        }
    }

    /// A comment line would be the usual sign of life; it ends the stream on iOS and is an error on Android.
    @Test func aSilentStreamOpensItsNextEventEarly() throws {
        try GatewayRing.with([.callable("f", heartbeatSeconds: 30, timeoutSeconds: 600)]) { ring in
            let client = try ring.call("f", "1", Self.stream)
            let invocation = try #require(ring.next())
            ring.advance(.milliseconds(29_990))
            #expect(client.answer?.body == "")
            ring.advance(.milliseconds(20))
            #expect(client.answer?.body == "data: ")
            ring.advance(.seconds(60))
            #expect(client.answer?.body == "data:   ")
            invocation.send(chunk: "1")
            ring.run()
            #expect(client.answer?.body == "data:   {\"message\":1}\n\n")
            // What was sent shows life as well: of two looks at it only the second finds silence.
            ring.advance(.seconds(30))
            #expect(client.answer?.body == "data:   {\"message\":1}\n\n")
            ring.advance(.seconds(30))
            #expect(client.answer?.body == "data:   {\"message\":1}\n\ndata: ")
            invocation.end("2")
            ring.run()
            #expect(client.answer?.body == "data:   {\"message\":1}\n\ndata: {\"result\":2}\n\n")
            ring.advance(.seconds(90))
            #expect(client.answer?.body == "data:   {\"message\":1}\n\ndata: {\"result\":2}\n\n")
        }
    }

    @Test func aStreamWithoutHeartbeatStaysSilent() throws {
        try GatewayRing.with([.callable("f", heartbeatSeconds: nil, timeoutSeconds: 600)]) { ring in
            let client = try ring.call("f", "1", Self.stream)
            ring.advance(.seconds(300))
            #expect(client.answer?.body == "")
        }
    }

    @Test func whatTheClientHasTakenIsCredited() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.call("f", "1", Self.stream)
            let invocation = try #require(ring.next())
            client.reads = false
            let chunk = String(repeating: "1", count: 65_536)
            for _ in 0..<4 { invocation.send(chunk: chunk) }
            ring.run()
            #expect(invocation.credit == 0)
            client.readOnce()
            #expect(invocation.credit == 4 * 65_536)
            for _ in 0..<4 { invocation.send(chunk: chunk) }
            ring.run()
            #expect(invocation.credit == 4 * 65_536)
            client.reads = true
            invocation.end("2")
            ring.run()
            #expect(invocation.credit == 8 * 65_536)
            let body = try #require(client.answer).body
            #expect(body.utf8.count == 8 * (65_536 + Self.frame) + "data: {\"result\":2}\n\n".utf8.count)
        }
    }

    @Test func whoSendsMoreThanItsClientHasTakenIsEnded() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.call("f", "1", Self.stream)
            let invocation = try #require(ring.next())
            client.reads = false
            let chunk = String(repeating: "1", count: 65_536)
            // As much as may be on its way, and the slack that parts without bytes need.
            for _ in 0..<5 { invocation.send(chunk: chunk) }
            ring.run()
            #expect(invocation.worker.isRunning)
            invocation.send(chunk: chunk)
            ring.run()
            #expect(!invocation.worker.isRunning)
            #expect(invocation.worker.end == .violation("it sent more of a stream than its client has taken"))
            client.reads = true
            #expect(client.answer?.body.hasSuffix("data: \(CallableErrorTests.hidden)\n\n") == true)
        }
    }

    @Test func streamsThatNobodyReadsHaveABoundTogether() throws {
        try GatewayRing.with([.callable("f")], memory: PortMemory(answers: 1_000_000)) { ring in
            let chunk = String(repeating: "1", count: 65_536)
            var streams: [(client: RingClient, invocation: ScriptedInvocation)] = []
            for _ in 0..<3 {
                let client = try ring.call("f", "1", Self.stream)
                streams.append((client, try #require(ring.next())))
                client.reads = false
                for _ in 0..<4 { streams.last?.invocation.send(chunk: chunk) }
                ring.run()
            }
            // Each is left 196,608 bytes: what its socket took at once doesn't count. The caller may have 375,000.
            #expect(streams.map(\.client.isClosed) == [false, true, true])
            #expect(streams.map(\.invocation.cancellation) == [nil, .clientGone, .clientGone])
            #expect(ring.gateway.memory.answers.figures.peak <= 375_000)
            streams[0].client.reads = true
            streams[0].invocation.end("2")
            ring.run()
            #expect(streams[0].client.answer?.isWhole == true)
            #expect(ring.gateway.memory.answers.figures.used == 0)
        }
    }

    @Test func aResultWithoutRoomIsAnError() throws {
        try GatewayRing.with([.callable("f")], memory: PortMemory(answers: 100_000)) { ring in
            let client = try ring.call("f", "1", Self.stream)
            let invocation = try #require(ring.next())
            invocation.end("\"\(String(repeating: "x", count: 70_000))\"")
            ring.run()
            let error =
                #"data: {"error":{"message":"Too much of the answers to this caller, or to all, waits to be "#
                + #"received.","status":"RESOURCE_EXHAUSTED"}}"#
            #expect(client.answer?.body == error + "\n\n")
            #expect(client.answer?.isWhole == true)
        }
    }

    /// Its handler would wait for it until the deadline, and keep its place in the worker.
    @Test func aStreamWhoseClientTakesNothingIsCutOff() throws {
        try GatewayRing.with([.callable("f", timeoutSeconds: 600)]) { ring in
            let clients = try (0..<3).map { _ in try ring.call("f", "1", Self.stream) }
            let invocations = try (0..<3).map { _ in try #require(ring.next()) }
            // The third has nothing to take.
            for number in 0..<2 {
                clients[number].reads = false
                for _ in 0..<2 { invocations[number].send(chunk: String(repeating: "1", count: 65_536)) }
            }
            ring.run()
            for _ in 0..<3 {
                clients[1].read(1_000)
                ring.advance(.seconds(76))
                ring.gateway.closeStaleConnections()
                ring.run()
            }
            #expect(clients.map(\.isClosed) == [true, false, false])
            #expect(invocations.map(\.cancellation) == [.clientGone, nil, nil])
        }
    }

    /// The worker waits for credit that never comes: its client reads nothing.
    @Test func aStreamThatNobodyReadsEndsAtItsDeadline() throws {
        try GatewayRing.with([.callable("f", timeoutSeconds: 5)]) { ring in
            let client = try ring.call("f", "1", Self.stream)
            let invocation = try #require(ring.next())
            client.reads = false
            for _ in 0..<4 { invocation.send(chunk: String(repeating: "1", count: 65_536)) }
            ring.advance(.milliseconds(4_900))
            #expect(invocation.cancellation == nil)
            ring.advance(.milliseconds(200))
            #expect(invocation.cancellation == .deadline)
            #expect(invocation.credit == 0)
            // The handler ends, as a stopped one does; its worker is free for the next call.
            invocation.fail(.cancelled, "CANCELLED")
            ring.run()
            client.reads = true
            #expect(client.answer?.isWhole == true)
            #expect(
                client.answer?.body.hasSuffix(
                    "data: {\"error\":{\"message\":\"DEADLINE_EXCEEDED\",\"status\":\"DEADLINE_EXCEEDED\"}}\n\n")
                    == true)
            ring.advance(.seconds(10))
            #expect(invocation.worker.isRunning)
            let next = try ring.call("f")
            try #require(invocation.worker.next()).end("3")
            ring.run()
            #expect(next.answer?.body == #"{"result":3}"#)
        }
    }
}
