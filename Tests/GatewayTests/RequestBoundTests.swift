import DocumentModel
import FunctionManifest
@testable import Gateway
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Sharing
import Testing
import WorkerProtocol
import Workers
import WorkerTesting

/// Requests that are too large, too slow or not whole.
@Suite struct RequestBoundTests {
    private func limits(requestBody: Int) -> HostLimits {
        var limits = HostLimits()
        limits.requestBody = requestBody
        return limits
    }

    private func body(of size: Int) -> String {
        #"{"data":""# + String(repeating: "x", count: size - #"{"data":""}"#.utf8.count) + #""}"#
    }

    @Test func aBodyOfTheLimitIsTakenAndALargerOneRefused() throws {
        try GatewayRing.with([.callable("f")], limits: limits(requestBody: 1000)) { ring in
            ring.processes.handler = { $0.end("1") }
            func post(_ size: Int) throws -> RingClient {
                try ring.send("POST", GatewayRing.path("f"), ["Content-Type": "application/json"], body(of: size))
            }
            #expect(try post(1000).answer?.status == 200)
            let larger = try post(1001)
            #expect(larger.answer?.status == 413)
            #expect(
                larger.answer?.body
                    == #"{"error":{"message":"The request body is larger than the limit of 1000 bytes.","status":"INVALID_ARGUMENT"}}"#
            )
            #expect(larger.isClosed)
        }
    }

    /// Such as one with many cookies: it is valid HTTP.
    @Test(arguments: [
        "Cookie: " + String(repeating: "x", count: 81_920),
        (0..<256).map { "X-\($0): 1" }.joined(separator: "\r\n"),
    ])
    func aHeadThatIsTooLargeIsRefusedAsThat(headers: String) throws {
        try GatewayRing.with([.http("f")]) { ring in
            let client = try ring.connect()
            client.send("GET /f HTTP/1.1\r\nHost: h\r\n\(headers)\r\n\r\n")
            #expect(client.answer?.status == 431)
            #expect(client.isClosed)
            #expect(ring.processes.workers.isEmpty)
        }
    }

    @Test func aBodyWithoutALengthIsBoundedToo() throws {
        try GatewayRing.with([.callable("f")], limits: limits(requestBody: 1000)) { ring in
            let client = try ring.connect()
            client.send(
                "POST /f HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "1f4\r\n" + String(repeating: "x", count: 500) + "\r\n"
            for _ in 0..<2 { client.send(chunk) }
            #expect(client.answer == nil)
            client.send(chunk)
            #expect(client.answer?.status == 413)
            // A connection closed with unread bytes is reset: what is still to come is read first.
            #expect(!client.isClosed)
            client.send(chunk + "0\r\n\r\n")
            #expect(client.isClosed)
            #expect(ring.processes.workers.isEmpty)
        }
    }

    @Test(arguments: [
        "NONSENSE\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "GET / HTTP/1.1\r\nBad Header: x\r\n\r\n",
    ])
    func whatIsNoHTTPIsRefusedAndTheConnectionClosed(text: String) throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.connect()
            client.send(text)
            #expect(client.isClosed)
            #expect(client.received.isEmpty || client.answer?.status == 400)
        }
    }

    /// Proxies could read such requests differently than this host does.
    @Test(arguments: [
        ("POST /f HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", "no Host"),
        ("GET /f HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "2 Host headers"),
        ("POST /f HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "Transfer-Encoding"),
        (
            "POST /f HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            "other than chunked"
        ),
    ])
    func anAmbiguousRequestIsRefused(text: String, reason: String) throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.connect()
            client.send(text)
            #expect(client.answer?.status == 400)
            #expect(client.answer?.body.contains(reason) == true)
            #expect(client.isClosed)
        }
    }

    /// Each comparison of such a text would take hundreds of milliseconds, for which all connections of the loop wait.
    @Test(arguments: ["Host: h\r\nContent-Type: b", "Host: b"])
    func aHeadThatTakesLongToCompareIsRefused(headers: String) throws {
        func request(_ pairs: Int) -> String {
            "GET /f HTTP/1.1\r\n\(headers)" + String(repeating: "\u{301}\u{323}", count: pairs) + "\r\n\r\n"
        }
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.connect()
            client.send(request(501))
            #expect(client.answer?.status == 400)
            #expect(client.answer?.body.contains("combining marks") == true)
            #expect(client.isClosed)
            let other = try ring.connect()
            other.send(request(500))
            #expect(other.answer?.body.contains("combining marks") == false)
        }
    }

    @Test func nothingIsAnsweredTwiceWhileARequestIsDiscarded() throws {
        try GatewayRing.with([.callable("f")], limits: limits(requestBody: 10)) { ring in
            let client = try ring.connect()
            client.send("POST /f HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
            client.send("14\r\n01234567890123456789\r\n")
            #expect(client.answer?.status == 413)
            client.send("not a chunk\r\n")
            #expect(client.isClosed)
            #expect(client.received.components(of: "HTTP/1.1") == 1)
        }
    }

    @Test func requestsSentAheadAreAnsweredInTheirOrder() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.connect()
            let requests = (1...5).map { number in
                let body = #"{"data":\#(number)}"#
                return "POST /f HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            }
            client.send(requests.joined())
            for number in 1...5 {
                // One at a time: the next one begins once the last one is answered.
                let invocation = try #require(ring.next())
                #expect(invocation.text == "\(number)")
                #expect(ring.next() == nil)
                invocation.end("\(number)")
                ring.run()
            }
            let results = client.received.split(separator: "\r\n").filter { $0.hasPrefix("{") }.map { $0.prefix(12) }
            #expect(results == (1...5).map { "{\"result\":\($0)}".prefix(12) })
        }
    }

    @Test func aConnectionThatIsSilentForTooLongIsClosed() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let idle = try ring.connect()
            let half = try ring.connect()
            half.send("POST /f HTTP/1.1\r\nHost: h\r\nContent-Le")
            let partial = try ring.connect()
            partial.send("POST /f HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhal")
            let answered = try ring.call("f")
            ring.advance(.seconds(59))
            ring.gateway.closeStaleConnections()
            ring.run()
            #expect([idle, half, partial, answered].map(\.isClosed) == [false, false, false, false])
            ring.advance(.milliseconds(1_500))
            ring.gateway.closeStaleConnections()
            ring.run()
            // A request has to arrive in time. The rest of it is discarded.
            #expect(partial.answer?.status == 408)
            #expect(partial.answer?.body.contains(#""status":"DEADLINE_EXCEEDED""#) == true)
            #expect([idle, half, partial].map(\.isClosed) == [false, false, false])
            ring.advance(.seconds(15))
            ring.gateway.closeStaleConnections()
            ring.run()
            #expect([idle, half, partial].map(\.isClosed) == [true, true, true])
            #expect(!answered.isClosed)
            #expect(answered.answer?.status == 504)
        }
    }

    /// Each body counts among those that the gateway holds, until it is done with it.
    @Test func callsThatHangUpFreeTheirBodies() throws {
        try GatewayRing.with([.callable("f")], memory: PortMemory(bodies: 8_000)) { ring in
            let json = ["Content-Type": "application/json"]
            for _ in 0..<10 {
                let client = try ring.send("POST", "/f", json, body(of: 1000))
                #expect(ring.next() != nil)
                client.hangUp()
            }
            let held = try (0..<3).map { _ in try ring.send("POST", "/f", json, body(of: 1000)) }
            let refused = try ring.send("POST", "/f", json, body(of: 1000))
            #expect(refused.answer?.status == 503)
            while let invocation = ring.next() { invocation.end("1") }
            ring.run()
            #expect(held.map { $0.answer?.status } == [200, 200, 200])
            let next = try ring.send("POST", "/f", json, body(of: 1000))
            #expect(ring.next() != nil)
            #expect(next.answer == nil)
        }
    }

    /// Each connection may have one, for as long as its request is answered.
    @Test func aLargeHeadCountsAsABodyDoes() throws {
        try GatewayRing.with([.http("f")], memory: PortMemory(bodies: 100_000)) { ring in
            let head = "GET /f HTTP/1.1\r\nHost: h\r\nX-A: \(String(repeating: "x", count: 20_000))\r\n\r\n"
            let clients = try (0..<2).map { _ in try ring.connect() }
            for client in clients { client.send(head) }
            #expect(clients.map { $0.answer?.status } == [nil, 503])
            #expect(clients[1].isClosed)
            #expect((20_000..<20_100).contains(ring.gateway.memory.bodies.figures.used))
            try #require(ring.next()).end("1")
            ring.run()
            #expect(clients[0].answer?.status == 200)
            #expect(ring.gateway.memory.bodies.figures.used == 0)
        }
    }

    /// A client could leave such heads on all its connections.
    @Test func whatHasComeOfALargeHeadCounts() throws {
        try GatewayRing.with([.http("f")], memory: PortMemory(bodies: 100_000)) { ring in
            ring.processes.handler = { $0.end("1") }
            let start = "GET /f HTTP/1.1\r\nHost: h\r\nX-A: "
            let clients = try (0..<3).map { _ in try ring.connect() }
            clients[0].send(start + String(repeating: "x", count: 8_000))
            #expect(ring.gateway.memory.bodies.figures.used == 0)
            clients[0].send(String(repeating: "x", count: 12_000))
            #expect((20_000..<20_100).contains(ring.gateway.memory.bodies.figures.used))
            clients[1].send(start + String(repeating: "x", count: 20_000))
            #expect(clients.map(\.isClosed) == [false, true, false])
            #expect(clients[1].answer?.status == 503)
            #expect(
                ring.log.lines("a request was refused: too much is held of heads that aren't whole").count == 1)
            clients[0].send("\r\n\r\n")
            #expect(clients[0].answer?.body == "1")
            #expect(ring.gateway.memory.bodies.figures.used == 0)
            // One that leaves gives back what it has sent.
            clients[2].send(start + String(repeating: "x", count: 20_000))
            #expect(ring.gateway.memory.bodies.figures.used > 0)
            clients[2].hangUp()
            #expect(ring.gateway.memory.bodies.figures.used == 0)
        }
    }

    /// Its client would take the refusal for a part of the answer before it.
    @Test func aHeadWithoutRoomBehindAnotherRequestEndsTheConnection() throws {
        try GatewayRing.with([.http("f")], memory: PortMemory(bodies: 20_000)) { ring in
            let client = try ring.send("GET", "/f")
            client.send("GET /f HTTP/1.1\r\nHost: h\r\nX-A: " + String(repeating: "x", count: 20_000))
            #expect(client.isClosed)
            #expect(client.received == "")
            #expect(ring.gateway.memory.bodies.figures.used == 0)
        }
    }

    @Test func refusalsOfOneCallerAreLoggedATenTimesAMinute() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let bad = ["Content-Type": "text/plain"]
            for _ in 0..<25 { #expect(try ring.send("POST", "/f", bad, "{}").answer?.status == 400) }
            #expect(ring.log.lines("a request isn't a valid call").count == 10)
            ring.advance(.seconds(61))
            ring.gateway.closeStaleConnections()
            let summary = try #require(ring.log.lines("more requests were refused than are logged").first)
            #expect("\(summary)".contains("15"))
            _ = try ring.send("POST", "/f", bad, "{}")
            #expect(ring.log.lines("a request isn't a valid call").count == 11)
        }
    }

    /// An error has the details that its author gives it.
    @Test(arguments: [true, false])
    func anErrorWithoutRoomIsASmallerOne(isHTTP: Bool) throws {
        let details = "\"\(String(repeating: "x", count: 70_000))\""
        try GatewayRing.with([isHTTP ? .http("f") : .callable("f")], memory: PortMemory(answers: 100_000)) { ring in
            ring.processes.handler = { $0.fail(.outOfRange, "Too far.", details: details) }
            let client = try ring.send("POST", "/f", ["Content-Type": "application/json"], #"{"data":1}"#)
            #expect(client.answer?.status == 429)
            #expect(client.answer?.body.contains("RESOURCE_EXHAUSTED") == true)
            #expect(!client.isClosed)
            #expect(ring.gateway.memory.bodies.figures.used == 0)
        }
    }

    @Test func anAnswerToHEADTakesNoRoom() throws {
        try GatewayRing.with([.http("f")], memory: PortMemory(answers: 100_000)) { ring in
            ring.processes.handler = { $0.end(String(repeating: "x", count: 70_000)) }
            let client = try ring.connect()
            client.send("HEAD /f HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(client.received.hasPrefix("HTTP/1.1 200 "))
            #expect(client.received.contains("Content-Length: 70000\r\n"))
        }
    }

    /// What a link brings at once is one buffer, and so are a long answer and what comes with its end.
    @Test func anAnswerThatWaitsKeepsNothingButItself() throws {
        try GatewayRing.with([.http("f")]) { ring in
            let reader = try ring.send("GET", "/f")
            let client = try ring.connect()
            client.reads = false
            client.send("GET /f HTTP/1.1\r\nHost: h\r\n\r\n")
            var bytes = ByteBuffer()
            for size in [3_000_000, 100_000] {
                let invocation = try #require(ring.next())
                bytes.writeFrame(.result, invocation: invocation.id) {
                    $0.writeRepeatingByte(UInt8(ascii: "x"), count: size)
                }
            }
            try #require(ring.worker).send(bytes)
            ring.run()
            #expect(reader.answer?.body.utf8.count == 3_000_000)
            #expect(client.unreadStorage <= 4 * 100_000)
            client.reads = true
            #expect(client.answer?.body.utf8.count == 100_000)
        }
    }

    /// One client may have thousands of connections, each of which waits for its next request.
    @Test func aConnectionKeepsNothingOfAnAnsweredRequest() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let channel = EmbeddedChannel(loop: ring.loop)
            try ring.gateway.serve(channel)
            channel.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 1), promise: nil)
            let head = "POST /f HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 13\r\n"
            let cookie = "Cookie: a=" + String(repeating: "x", count: 60_000)
            try channel.writeInbound(ByteBuffer(string: head + cookie + "\r\n\r\n" + #"{"data":null}"#))
            ring.run()
            let handler = try channel.pipeline.syncOperations.handler(type: GatewayHandler.self)
            #expect(!handler.isIdle && !handler.headers.isEmpty)
            ring.next()?.end("1")
            ring.run()
            #expect(handler.isIdle && handler.headers.isEmpty)
            _ = try channel.finish(acceptAlreadyClosed: true)
        }
    }

    /// A client that doesn't read costs what waits for it, and no more than all such may cost together.
    @Test func answersThatNobodyReadsHaveABoundTogether() throws {
        try GatewayRing.with([.http("f")], memory: PortMemory(answers: 700_000)) { ring in
            ring.processes.handler = { $0.end(String(repeating: "x", count: 100_000)) }
            var clients: [RingClient] = []
            for _ in 0..<4 {
                let client = try ring.connect()
                client.reads = false
                client.send("GET /f HTTP/1.1\r\nHost: h\r\n\r\n")
                clients.append(client)
            }
            for client in clients { client.readOnce() }
            #expect(clients.map { $0.answer?.status } == [200, 200, 429, 429])
            #expect(clients[2].answer?.body.contains(#""status":"RESOURCE_EXHAUSTED""#) == true)
            #expect(clients.allSatisfy { !$0.isClosed })
            let message = "an answer was dropped: too many wait for clients that don't read them"
            #expect(ring.log.lines("\(message)").count == 2)
            for client in clients { client.reads = true }
            #expect(clients[0].answer?.body.utf8.count == 100_000)
            #expect(try ring.send("GET", "/f").answer?.isWhole == true)
        }
    }
}

extension String {
    /// How often a text occurs.
    fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
