import Foundation
import Gateway
import NIOCore
import Testing
import WorkerProtocol
import WorkerTesting

/// Connections that carry several requests, long ones, or what isn't a request.
@Suite struct ConnectionTests {
    @Test func aCallMayTakeLongerThanARequestMayTakeToArrive() throws {
        try GatewayRing.with([.callable("f", timeoutSeconds: 600)]) { ring in
            let client = try ring.call("f")
            let invocation = try #require(ring.next())
            for _ in 0..<10 {
                ring.advance(.seconds(30))
                ring.gateway.closeStaleConnections()
                ring.run()
            }
            #expect(!client.isClosed)
            invocation.end("1")
            ring.run()
            #expect(client.answer?.body == #"{"result":1}"#)
        }
    }

    @Test(arguments: ["1.1", "1.0"]) func onlyClientsThatKnowItAreAskedToGoOn(version: String) throws {
        try GatewayRing.with([.http("f")]) { ring in
            ring.processes.handler = { $0.end($0.text) }
            let client = try ring.connect()
            client.send(
                "POST /f HTTP/\(version)\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n")
            let interim = version == "1.1" ? "HTTP/1.1 100 Continue\r\n\r\n" : ""
            #expect(client.received == interim)
            client.send("hi")
            #expect(client.received.hasPrefix(interim + "HTTP/1.1 200 OK\r\n"))
            #expect(client.received.hasSuffix("\r\n\r\nhi"))
        }
    }

    /// Answers that a client doesn't read would pile up in memory.
    @Test func aClientThatReadsNothingGetsNoFurtherAnswers() throws {
        try GatewayRing.with([.http("f")]) { ring in
            var handled = 0
            ring.processes.handler = { invocation in
                handled += 1
                invocation.end(String(repeating: "x", count: 40_000))
            }
            let client = try ring.connect()
            client.reads = false
            client.send(String(repeating: "GET /f HTTP/1.1\r\nHost: h\r\n\r\n", count: 10))
            // As many as the socket holds, and the one that fills it.
            #expect(handled == 2)
            client.readOnce()
            #expect(handled == 4)
            client.reads = true
            #expect(handled == 10)
            #expect(client.received.components(separatedBy: "HTTP/1.1 200 OK").count == 11)
        }
    }

    /// A read may have thousands of requests, and each takes many times its bytes.
    @Test func aClientThatSendsTooManyRequestsAheadIsCutOff() throws {
        try GatewayRing.with([.http("f")]) { ring in
            let clients = try (0..<2).map { _ in try ring.connect() }
            for (client, count) in zip(clients, [100, 3_000]) {
                client.send(String(repeating: "GET /f HTTP/1.1\r\nHost: h\r\n\r\n", count: count))
            }
            #expect(clients.map(\.isClosed) == [false, true])
            #expect(ring.log.lines("a connection was closed: it sent too many requests ahead").count == 1)
            let invocations = [try #require(ring.next()), try #require(ring.next())]
            #expect(invocations.map(\.cancellation) == [nil, .clientGone])
            invocations[0].end("1")
            ring.run()
            #expect(clients[0].answer?.body == "1")
            #expect(ring.next() != nil)
        }
    }

    /// Nothing is parsed after such a request, so what follows it would pile up in memory.
    @Test(arguments: [
        "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    ])
    func bytesAfterARequestForAnotherProtocolAreNotKept(head: String) throws {
        try GatewayRing.with([.http("f")]) { ring in
            let client = try ring.connect()
            client.send(head)
            #expect(client.received.contains("HTTP/1.1 4"))
            #expect(client.isClosed)
        }
        try GatewayRing.with([.http("f")]) { ring in
            let client = try ring.connect()
            client.send("GET /f HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
            #expect(ring.next() != nil)
            for _ in 0..<3 { client.send(String(repeating: "x", count: 100_000)) }
            #expect(client.isClosed)
        }
    }

    @Test func aClientOnASlowLineHasTheTimeForItsAnswer() throws {
        try GatewayRing.with([.http("f")]) { ring in
            ring.processes.handler = { $0.end(String(repeating: "x", count: 2_000_000)) }
            let client = try ring.connect()
            client.reads = false
            client.send("GET /f HTTP/1.1\r\nHost: h\r\n\r\n")
            for _ in 0..<4 {
                client.read(300_000)
                ring.advance(.seconds(76))
                ring.gateway.closeStaleConnections()
                #expect(!client.isClosed)
            }
            client.reads = true
            #expect(client.answer?.body.utf8.count == 2_000_000)
            ring.gateway.closeStaleConnections()
            #expect(!client.isClosed)
            ring.advance(.seconds(76))
            ring.gateway.closeStaleConnections()
            #expect(client.isClosed)
        }
    }

    @Test func aClientThatTakesHardlyAnythingIsCutOff() throws {
        try GatewayRing.with([.http("f")]) { ring in
            ring.processes.handler = { $0.end(String(repeating: "x", count: 2_000_000)) }
            let clients = try (0..<2).map { _ in try ring.connect() }
            for client in clients {
                client.reads = false
                client.send("GET /f HTTP/1.1\r\nHost: h\r\n\r\n")
            }
            clients[0].read(300_000)
            ring.advance(.seconds(76))
            ring.gateway.closeStaleConnections()
            #expect(clients.map(\.isClosed) == [false, true])
            clients[0].read(100_000)
            ring.advance(.seconds(76))
            ring.gateway.closeStaleConnections()
            #expect(clients[0].isClosed)
        }
    }

    /// A client would take an answer to it for the answer to its request.
    @Test func bytesThatAreNotHTTPEndAnAnswerThatIsOnItsWay() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.call("f")
            let invocation = try #require(ring.next())
            client.send("NONSENSE\r\n\r\n")
            #expect(client.isClosed)
            #expect(client.received == "")
            #expect(invocation.cancellation == .clientGone)
        }
    }

    /// A host that stops waits for them.
    @Test func answersKeepTheGatewayBusyUntilTheirClientsHaveThem() throws {
        try GatewayRing.with([.http("f")]) { ring in
            let half = try ring.connect()
            half.send("POST /f HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n")
            #expect(!ring.gateway.isBusy)
            let client = try ring.connect()
            client.reads = false
            client.send("GET /f HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(ring.gateway.isBusy)
            ring.gateway.beginStopping()
            try #require(ring.next()).end(String(repeating: "x", count: 100_000))
            ring.run()
            #expect(ring.gateway.isBusy)
            client.read(50_000)
            #expect(ring.gateway.isBusy)
            client.reads = true
            #expect(!ring.gateway.isBusy)
            #expect(client.answer?.isWhole == true)
        }
    }

    @Test func aRequestThatIsWholeAfterTheStopIsRefused() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.connect()
            let idle = try ring.connect()
            client.send("POST /f HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n")
            ring.gateway.beginStopping()
            ring.run()
            #expect([client, idle].map(\.isClosed) == [false, true])
            client.send(#"{"data":1}"#)
            #expect(client.answer?.status == 503)
            #expect(client.isClosed)
            #expect(ring.processes.workers.isEmpty)
        }
    }
}
