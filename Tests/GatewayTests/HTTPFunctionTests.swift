import DocumentModel
import Gateway
import NIOCore
import Testing
import WorkerProtocol
import WorkerTesting

/// Functions that get HTTP requests as they are.
@Suite struct HTTPFunctionTests {
    @Test func aHandlerSeesTheRequestBehindItsName() throws {
        try GatewayRing.with([.http("f")]) { ring in
            for (path, target) in [
                (GatewayRing.path("f") + "/a%20b/c?x=1&y=%C3%A9+z&x=2", "/a%20b/c?x=1&y=%C3%A9+z&x=2"),
                (GatewayRing.path("f"), "/"), (GatewayRing.path("f") + "?q=1", "/?q=1"), ("/f/rest?x=1", "/rest?x=1"),
            ] {
                let client = try ring.send("PUT", path, ["X-Fixture": "yes"], "body")
                let invocation = try #require(ring.next())
                #expect(invocation.head.method == "PUT")
                #expect(invocation.head.target == target)
                #expect(invocation.head.headers.pairs.contains { $0 == ("X-Fixture", "yes") })
                #expect(invocation.text == "body")
                invocation.send(status: 201, [(name: "X-Answer", value: "a")])
                invocation.end("done")
                ring.run()
                #expect(client.answer?.status == 201)
                #expect(client.answer?["X-Answer"] == "a")
                #expect(client.answer?.body == "done")
            }
            #expect(try ring.send("GET", "/demo-shop/europe-west1/f").answer?.status == 404)
        }
    }

    /// As a client sends it that takes the host for a proxy.
    @Test(arguments: [
        ("http://api.shop.example/demo-shop/us-central1/f/a%2F?x=http://b/", "/a%2F?x=http://b/", "api.shop.example"),
        ("HTTPS://api.shop.example:443/f?q=1", "/?q=1", "api.shop.example:443"),
        ("http://us-central1-demo-shop.cloudfunctions.net/f", "/", "us-central1-demo-shop.cloudfunctions.net"),
    ])
    func aTargetMayBeAWholeURL(target: String, path: String, host: String) throws {
        try GatewayRing.with([.http("f")]) { ring in
            let client = try ring.send("GET", target)
            let invocation = try #require(ring.next())
            #expect(invocation.head.target == path)
            #expect(invocation.head.headers.pairs.filter { $0.name == "Host" }.map(\.value) == [host])
            invocation.end("1")
            ring.run()
            #expect(client.answer?.body == "1")
        }
    }

    @Test func theAuthorityOfAWholeURLGoesBeforeTheHost() throws {
        try GatewayRing.with([.http("f")], hosts: LocalHosts(setting: "allowedHosts")) { ring in
            let region = "http://asia-northeast1-demo-shop.cloudfunctions.net/f"
            let (other, own) = (try ring.send("GET", region), try ring.send("GET", "http://localhost"))
            #expect(other.answer?.status == 421)
            #expect(own.answer?.status == 404)
        }
        try GatewayRing.with([.http("f")]) { ring in
            #expect(try ring.send("GET", "http://asia-northeast1-demo-shop.cloudfunctions.net/f").answer?.status == 404)
            let client = try ring.connect()
            client.send("GET http://a.example/f HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
            #expect(client.answer?.status == 400)
            #expect(ring.processes.workers.isEmpty)
        }
    }

    @Test(arguments: [200, 201, 404, 418, 500, 599] as [UInt16])
    func theHandlersStatusIsTheAnswers(status: UInt16) throws {
        try GatewayRing.with([.http("f")]) { ring in
            ring.processes.handler = {
                $0.send(status: status)
                $0.end("x")
            }
            let answer = try #require(try ring.send("GET", GatewayRing.path("f")).answer)
            #expect(answer.status == Int(status))
            #expect(answer.body == "x")
        }
    }

    /// A bundle that was built before the limit doesn't check it.
    @Test func headersBeyondTheLimitFailTheirInvocationOnly() throws {
        try GatewayRing.with([.http("f")]) { ring in
            let client = try ring.send("GET", GatewayRing.path("f"))
            let other = try ring.send("GET", GatewayRing.path("f"))
            let large = try #require(ring.next())
            let small = try #require(ring.next())
            large.send(status: 200, [(name: "X-A", value: String(repeating: "x", count: 1 << 18))])
            ring.run()
            #expect(client.answer?.status == 500)
            #expect(client.answer?.body == CallableErrorTests.hidden)
            #expect(ring.log.lines("the headers of an answer are larger than they may be").count == 1)
            // What follows of it changes nothing.
            large.send(chunk: "x")
            large.end("x")
            small.end("1")
            ring.run()
            #expect(other.answer?.body == "1")
            #expect(ring.worker?.isRunning == true)
            #expect(client.received.ranges(of: "HTTP/1.1 ").count == 1)
        }
    }

    /// What follows an answer without a body is the next answer.
    private func expectNoBody(_ ring: GatewayRing, _ method: String, head: String) throws {
        let client = try ring.send(method, GatewayRing.path("f"))
        client.send("GET /f HTTP/1.1\r\nHost: h\r\n\r\n")
        let heads = client.received.split(separator: "\r\n\r\n", omittingEmptySubsequences: false)
        #expect(heads.count >= 2)
        #expect(heads.first?.hasPrefix(head) == true)
        #expect(heads.dropFirst().first?.hasPrefix("HTTP/1.1 ") == true)
    }

    @Test(arguments: [204, 304] as [UInt16]) func anAnswerThatMayHaveNoBodyHasNone(status: UInt16) throws {
        try GatewayRing.with([.http("f")]) { ring in
            ring.processes.handler = {
                $0.send(status: status)
                $0.end("a body all the same")
            }
            try expectNoBody(ring, "GET", head: "HTTP/1.1 \(status)")
        }
    }

    @Test func headHasTheHeadOfGet() throws {
        try GatewayRing.with([.http("f")]) { ring in
            ring.processes.handler = { $0.end(String(repeating: "x", count: 1000)) }
            let get = try #require(try ring.send("GET", GatewayRing.path("f")).answer)
            #expect(get.body.utf8.count == 1000)
            let head = try #require(try ring.send("HEAD", GatewayRing.path("f")).answer)
            #expect(head["Content-Length"] == "1000")
            try expectNoBody(ring, "HEAD", head: "HTTP/1.1 200")
        }
    }

    @Test func headOfAStreamEndsWithItsHead() throws {
        try GatewayRing.with([.http("f")]) { ring in
            ring.processes.handler = {
                $0.send(status: 200)
                $0.send(chunk: "line 1\n")
                $0.end("")
            }
            let head = try #require(try ring.send("HEAD", GatewayRing.path("f")).answer)
            #expect(head["Transfer-Encoding"] == "chunked")
            try expectNoBody(ring, "HEAD", head: "HTTP/1.1 200")
        }
    }

    /// The runtime doesn't run a stream for its head alone.
    @Test func headOfAStreamThatDoesNotRunHasNoLength() throws {
        try GatewayRing.with([.http("f")]) { ring in
            ring.processes.handler = {
                $0.send(status: 200, [(name: "Content-Type", value: "application/pdf")])
                $0.end("")
            }
            let head = try #require(try ring.send("HEAD", GatewayRing.path("f")).answer)
            #expect(head["Content-Type"] == "application/pdf")
            #expect(head["Content-Length"] == nil)
            try expectNoBody(ring, "HEAD", head: "HTTP/1.1 200")
        }
    }

    @Test func aStreamedBodyArrivesAsItIsMade() throws {
        try GatewayRing.with([.http("f")]) { ring in
            let client = try ring.send("GET", GatewayRing.path("f"))
            let invocation = try #require(ring.next())
            invocation.send(status: 200, [(name: "Content-Type", value: "text/plain")])
            ring.run()
            // The head waits for what tells whether the answer is streamed.
            #expect(client.answer == nil)
            invocation.send(chunk: "line 1\n")
            ring.run()
            #expect(client.answer?["Content-Type"] == "text/plain")
            #expect(client.answer?.body == "line 1\n")
            #expect(client.answer?.isWhole == false)
            invocation.send(chunk: "line 2\n")
            invocation.end("line 3\n")
            ring.run()
            #expect(client.answer?.body == "line 1\nline 2\nline 3\n")
            #expect(client.answer?.isWhole == true)
            #expect(!client.isClosed)
        }
    }

    /// Its status is with the client already: a cut-off body is the only sign that is left.
    @Test(arguments: [true, false]) func aStreamThatBreaksIsCutOff(isCrash: Bool) throws {
        try GatewayRing.with([.http("f")]) { ring in
            let client = try ring.send("GET", GatewayRing.path("f"))
            let invocation = try #require(ring.next())
            invocation.send(status: 200)
            invocation.send(chunk: "line 1\n")
            if isCrash { invocation.worker.crash() } else { invocation.fail(.internal, "INTERNAL") }
            ring.run()
            #expect(client.answer?.isWhole == false)
            #expect(client.isClosed)
        }
    }

    @Test func aHeaderCannotForgeAnother() throws {
        try GatewayRing.with([.http("f")]) { ring in
            ring.processes.handler = {
                $0.send(
                    status: 302,
                    [
                        (name: "Location", value: "https://shop.example/"),
                        (name: "X-Bad", value: "1\r\nX-Forged: yes"), (name: "X Bad", value: "2"),
                        (name: "Content-Length", value: "5"), (name: "Transfer-Encoding", value: "chunked"),
                        (name: "Connection", value: "close"),
                    ])
                $0.end("x")
            }
            let client = try ring.send("GET", GatewayRing.path("f"))
            let answer = try #require(client.answer)
            #expect(answer.status == 302)
            #expect(answer.headers.map(\.name).sorted() == ["Content-Length", "Date", "Location"])
            #expect(answer["Content-Length"] == "1")
            #expect(!client.isClosed)
        }
    }
}
