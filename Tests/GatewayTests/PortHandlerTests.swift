import Gateway
import HostTesting
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Sharing
import Testing
import WorkerTesting
import Workers

/// What stands before the servers of the other ports.
@Suite struct PortHandlerTests {
    /// A server's connection, and what its handler sees and answers.
    private final class Connection {
        let channel = EmbeddedChannel()
        let memory: PortMemory

        let log = LogLines()

        init(
            hosts: LocalHosts? = nil, memory: PortMemory = PortMemory(), proxies: TrustedProxies = TrustedProxies(),
            times: PortTimes = PortTimes(), countsAnswers: Bool = true, hasSignIn: Bool = false
        ) throws {
            self.memory = memory
            let rules = PortRules(
                hosts: hosts, memory: memory, times: times, caller: PortCaller(proxies: proxies),
                countsAnswers: countsAnswers, hasSignIn: hasSignIn, refusals: RefusalLogger(log.logger))
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: false)
            try channel.pipeline.syncOperations.addHandler(PortHandler.Installer(rules))
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        }

        func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

        /// The paths of the requests that have come since.
        func requests() throws -> [String] {
            var paths: [String] = []
            while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
                if case .head(let head) = part { paths.append(head.uri) }
            }
            return paths
        }

        func answer(_ body: String, _ headers: HTTPHeaders = [:]) throws {
            try channel.writeOutbound(
                HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)))
            try channel.writeOutbound(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: body))))
            try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        }

        /// All that was sent to the client since.
        func received() throws -> String {
            var text = ""
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
            return text
        }
    }

    @Test func requestsAndAnswersPass() throws {
        let connection = try Connection()
        try connection.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try connection.requests() == ["/a"])
        try connection.answer("hello", ["Content-Length": "5"])
        #expect(try connection.received().hasSuffix("\r\n\r\nhello"))
        _ = try connection.channel.finish()
    }

    /// The loop's other connections are served before more of a large body is read.
    @Test func aConnectionIsReadOnceAtATime() throws {
        func reads(_ channel: EmbeddedChannel) -> UInt? {
            channel.options.first { $0.option is ChannelOptions.Types.MaxMessagesPerReadOption }?.value as? UInt
        }
        let connection = try Connection()
        #expect(reads(connection.channel) == 1)
        _ = try connection.channel.finish()
        // A stream of HTTP/2 isn't read from a socket of its own.
        let stream = EmbeddedChannel()
        let rules = PortRules(hosts: nil, memory: PortMemory(), refusals: RefusalLogger(LogLines().logger))
        try stream.pipeline.syncOperations.addHandler(PortHandler(rules, isStream: true))
        #expect(reads(stream) == nil)
        _ = try stream.finish()
    }

    /// What its client has sent is in memory anyway, and counts once it is read.
    @Test func aStreamIsReadWhateverItsServerWants() throws {
        let stream = EmbeddedChannel()
        let memory = PortMemory()
        let rules = PortRules(hosts: nil, memory: memory, refusals: RefusalLogger(LogLines().logger))
        let reads = Reads()
        try stream.pipeline.syncOperations.addHandlers([reads, PortHandler(rules, isStream: true)])
        let version = HTTPVersion(major: 2, minor: 0)
        let head = HTTPRequestHead(version: version, method: .POST, uri: "/a", headers: ["Host": "x"])
        try stream.writeInbound(HTTPServerRequestPart.head(head))
        #expect(reads.count == 1)
        try stream.writeInbound(HTTPServerRequestPart.body(ByteBuffer(repeating: 1, count: 1000)))
        #expect(reads.count == 2)
        #expect(memory.bodies.figures.used == 1000)
        // A small part takes hundreds of bytes while it waits.
        try stream.writeInbound(HTTPServerRequestPart.body(ByteBuffer(repeating: 1, count: 1)))
        #expect(memory.bodies.figures.used == 1512)
        _ = try stream.finish()
    }

    @Test(arguments: [
        "GET /a HTTP/1.1\r\n\r\n", "GET /a HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
        "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ])
    func anAmbiguousRequestIsRefused(text: String) throws {
        let connection = try Connection()
        try connection.send(text)
        #expect(try connection.requests() == [])
        let answer = try connection.received()
        #expect(answer.hasPrefix("HTTP/1.1 400 "))
        #expect(answer.contains(#"{"error":{"code":400,"message":""#))
        #expect(!connection.channel.isActive)
    }

    /// Otherwise the client would take the refusal for the answer to its first request.
    @Test func aRefusalWaitsForTheAnswersBeforeIt() throws {
        let connection = try Connection()
        try connection.send(
            "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try connection.requests() == ["/a"])
        #expect(try connection.received() == "")
        try connection.answer("hello", ["Content-Length": "5"])
        let answers = try connection.received()
        #expect(answers.contains("helloHTTP/1.1 400 "))
        #expect(!connection.channel.isActive)
    }

    /// They'd take many times their bytes in memory.
    @Test func aClientThatSendsTooManyRequestsAheadIsCutOff() throws {
        let connection = try Connection()
        let request = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
        try connection.send(String(repeating: request, count: 128))
        #expect(connection.channel.isActive)
        try connection.send(String(repeating: request, count: 1000))
        #expect(!connection.channel.isActive)
        #expect(connection.log.all == ["a connection was closed: it sent too many requests ahead port="])
    }

    /// Likewise.
    @Test func smallPartsOfABodyAreJoined() throws {
        let connection = try Connection()
        try connection.send(
            "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                + String(repeating: "1\r\nx\r\n", count: 1000))
        try connection.send("2\r\nyz\r\n0\r\n\r\n")
        var parts: [String] = []
        while let part = try connection.channel.readInbound(as: HTTPServerRequestPart.self) {
            switch part {
            case .head: parts.append("head")
            case .body(let bytes): parts.append(String(buffer: bytes))
            case .end: parts.append("end")
            }
        }
        #expect(parts == ["head", String(repeating: "x", count: 1000), "yz", "end"])
        _ = try connection.channel.finish()
    }

    @Test func anotherNameIsMisdirected() throws {
        let connection = try Connection(hosts: LocalHosts(setting: "listen.hosts"))
        try connection.send("GET /a HTTP/1.1\r\nHost: evil.test\r\n\r\n")
        #expect(try connection.requests() == [])
        #expect(try connection.received().hasPrefix("HTTP/1.1 421 "))
    }

    /// No request is parsed after it: a client that kept the connection would wait, and the decoder keep what comes.
    @Test(arguments: [
        "GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nHost: x\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    ])
    func aRequestForAnotherProtocolIsTheLast(text: String) throws {
        let connection = try Connection()
        let reads = Reads()
        try connection.channel.pipeline.syncOperations.addHandler(reads, position: .first)
        try connection.send(text)
        #expect(try connection.requests().count == 1)
        let before = reads.count
        for _ in 0..<3 { connection.channel.read() }
        #expect(reads.count == before)
        try connection.answer("hello", ["Content-Length": "5"])
        let answer = try connection.received()
        #expect(answer.lowercased().contains("connection: close") && answer.hasSuffix("hello"))
        #expect(!connection.channel.isActive)
    }

    /// Counts what reaches the socket.
    private final class Reads: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var count = 0

        func read(context: ChannelHandlerContext) {
            count += 1
            context.read()
        }
    }

    @Test func anAnswerToHEADHasNoBody() throws {
        let connection = try Connection()
        for headers in [["Content-Length": "5"], [:]] as [HTTPHeaders] {
            try connection.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try connection.requests() == ["/a"])
            try connection.answer("hello", headers)
            let answer = try connection.received().lowercased()
            #expect(answer.hasSuffix("\r\n\r\n"))
            #expect(answer.contains("content-length: 5\r\n"))
            #expect(!answer.contains("transfer-encoding"))
        }
        // The next request isn't a HEAD.
        try connection.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        try connection.answer("hello", ["Content-Length": "5"])
        #expect(try connection.received().hasSuffix("hello"))
        _ = try connection.channel.finish()
    }

    // MARK: Memory and time

    private func start(_ bytes: Int) -> String {
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: \(bytes)\r\n\r\n"
    }

    @Test func aBodyCountsUntilItIsAnswered() throws {
        let connection = try Connection()
        try connection.send(start(1000) + String(repeating: "x", count: 600))
        #expect(connection.memory.bodies.figures.used == 600)
        try connection.send(String(repeating: "x", count: 400))
        #expect(connection.memory.bodies.figures.used == 1000)
        try connection.answer("hello", ["Content-Length": "5"])
        #expect(connection.memory.bodies.figures.used == 0)
        // A client that leaves gives back what it has sent.
        try connection.send(start(1000) + "x")
        #expect(connection.memory.bodies.figures.used == 1)
        _ = try? connection.channel.finish()
        #expect(connection.memory.bodies.figures.used == 0)
    }

    @Test func aLargeHeadCountsToo() throws {
        let connection = try Connection()
        let memory = connection.memory.bodies
        let start = "GET /a HTTP/1.1\r\nHost: x\r\nX-A: "
        try connection.send(start + String(repeating: "x", count: 20_000))
        #expect(memory.figures.used > 20_000)
        try connection.send("\r\n\r\n")
        #expect(try connection.requests() == ["/a"])
        #expect(memory.figures.used > 20_000)
        try connection.answer("hello", ["Content-Length": "5"])
        #expect(memory.figures.used == 0)
        // The connection goes on, and one that ends gives back what it has sent.
        try connection.send(start + String(repeating: "x", count: 20_000))
        #expect(memory.figures.used > 20_000)
        _ = try? connection.channel.finish()
        #expect(memory.figures.used == 0)
    }

    @Test func aLargeHeadWithoutRoomIsRefused() throws {
        let connection = try Connection(memory: PortMemory(bodies: 20_000))
        let start = "GET /a HTTP/1.1\r\nHost: x\r\nX-A: "
        try connection.send(start + String(repeating: "x", count: 9_000) + "\r\n\r\n")
        #expect(try connection.requests() == [])
        #expect(try connection.received().hasPrefix("HTTP/1.1 503 "))
        #expect(!connection.channel.isActive)
        let other = try Connection(memory: PortMemory(bodies: 20_000))
        // The decoder reports the head that ends early.
        #expect(throws: (any Error).self) { try other.send(start + String(repeating: "x", count: 9_000)) }
        #expect(!other.channel.isActive)
        #expect(try other.received().hasPrefix("HTTP/1.1 503 "))
        #expect(other.log.all.count == 1)
        // One behind another request isn't held until that is answered.
        let later = try Connection(memory: PortMemory(bodies: 20_000))
        try later.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try? later.send(start + String(repeating: "x", count: 9_000))
        #expect(!later.channel.isActive)
        #expect(try later.received() == "")
        #expect(later.log.all.count == 1)
    }

    /// All its clients would share what one address may hold.
    @Test func aProxysHeadsMayHoldAllUntilTheyAreWhole() throws {
        let memory = PortMemory(bodies: 60_000)
        let start = "GET /a HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\nX-A: "
        let proxies = TrustedProxies(["127.0.0.0/8"].compactMap { AddressPrefix($0) })
        let connections = try (0..<3).map { _ in try Connection(memory: memory, proxies: proxies) }
        for connection in connections { try connection.send(start + String(repeating: "x", count: 10_000)) }
        #expect(memory.bodies.figures.used > 30_000)
        try connections[0].send("\r\n\r\n")
        #expect(try connections[0].requests() == ["/a"])
        for connection in connections { _ = try? connection.channel.finish() }
        #expect(memory.bodies.figures.used == 0)
    }

    /// The rest of its body is passed on to the server, which reads it for the sake of the connection.
    @Test func aRequestMayBeAnsweredBeforeItsBodyIsWhole() throws {
        let connection = try Connection(memory: PortMemory(bodies: 800))
        try connection.send(start(1000) + "x")
        try connection.answer("hello", ["Content-Length": "5"])
        #expect(connection.memory.bodies.figures.used == 0)
        try connection.send(String(repeating: "x", count: 998))
        #expect(connection.memory.bodies.figures.used == 0)
        #expect(connection.channel.isActive)
        try connection.send("xGET /b HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try connection.requests() == ["/a", "/b"])
        try connection.answer("again", ["Content-Length": "5"])
        #expect(try connection.received().hasSuffix("again"))
        // One whose body never ends is cut off.
        try connection.send(start(1000) + "x")
        try connection.answer("hello", ["Content-Length": "5"])
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(90))
        #expect(try connection.received().ranges(of: "HTTP/1.1").count == 1)
        #expect(!connection.channel.isActive)
    }

    /// The web SDK signs its user out on an error in JSON.
    @Test func whereUsersSignInWhatMayPassIsRefusedInText() throws {
        let connection = try Connection(memory: PortMemory(bodies: 800), hasSignIn: true)
        try connection.send(start(1000) + String(repeating: "x", count: 1000))
        let answer = try connection.received()
        #expect(answer.hasPrefix("HTTP/1.1 503 "))
        #expect(answer.contains("Content-Type: text/plain; charset=utf-8\r\n"))
        #expect(answer.contains("request bodies"))
        #expect(!answer.contains("{"))
        let ambiguous = try Connection(hasSignIn: true)
        try ambiguous.send("GET /a HTTP/1.1\r\n\r\n")
        #expect(try ambiguous.received().contains(#"{"error":{"code":400,"message":""#))
        _ = try? connection.channel.finish()
        _ = try? ambiguous.channel.finish()
    }

    @Test func aBodyWithoutRoomIsRefusedAndReadToItsEnd() throws {
        let connection = try Connection(memory: PortMemory(bodies: 800))
        try connection.send(start(1000) + String(repeating: "x", count: 300))
        #expect(try connection.received() == "")
        try connection.send("x")
        let answer = try connection.received()
        #expect(answer.hasPrefix("HTTP/1.1 503 "))
        #expect(answer.contains("request bodies"))
        #expect(answer.contains(#""status":"UNAVAILABLE""#))
        #expect(connection.log.all.count == 1)
        #expect(connection.log.all.first?.hasPrefix("a request was refused port= reason=") ?? false)
        #expect(connection.log.all.first?.hasSuffix(" status=503") ?? false)
        // The server may have it until the connection closes.
        #expect(connection.memory.bodies.figures.used == 300)
        #expect(connection.channel.isActive)
        // What the server says after that is too late.
        try connection.answer("hello", ["Content-Length": "5"])
        #expect(try connection.received() == "")
        try connection.send(String(repeating: "x", count: 698))
        #expect(connection.channel.isActive)
        try connection.send("x")
        #expect(!connection.channel.isActive)
        #expect(connection.memory.bodies.figures.used == 0)
    }

    /// Those before it are still being answered.
    @Test func aRefusalThatItsClientDoesNotAwaitIsLogged() throws {
        let connection = try Connection(memory: PortMemory(bodies: 800))
        try connection.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n" + start(1000) + String(repeating: "x", count: 301))
        #expect(connection.log.all == [])
        _ = try? connection.channel.finish()
        #expect(connection.log.all.count == 1)
        #expect(connection.log.all.first?.hasSuffix(" status=503") ?? false)
    }

    @Test func aPageMayReadWhyItsRequestIsRefused() throws {
        let connection = try Connection(memory: PortMemory(bodies: 8))
        try connection.send(
            "POST /a HTTP/1.1\r\nHost: x\r\nOrigin: https://shop.test\r\nContent-Length: 100\r\n\r\nxxxxx")
        #expect(try connection.received().contains("Access-Control-Allow-Origin: https://shop.test\r\n"))
        _ = try? connection.channel.finish()
    }

    @Test func aRefusedHEADHasNoBody() throws {
        let connection = try Connection()
        try connection.send("HEAD /a HTTP/1.1\r\n\r\n")
        let answer = try connection.received()
        #expect(answer.hasPrefix("HTTP/1.1 400 "))
        #expect(answer.hasSuffix("\r\n\r\n"))
    }

    @Test func anOldClientGetsNoChunks() throws {
        let connection = try Connection()
        try connection.send("GET /a HTTP/1.0\r\n\r\n")
        try connection.answer("hello", ["Transfer-Encoding": "chunked"])
        let answer = try connection.received()
        #expect(answer.hasPrefix("HTTP/1.0 200 "))
        #expect(answer.hasSuffix("\r\n\r\nhello"))
        #expect(!connection.channel.isActive)
    }

    @Test func aRefusedRequestThatNeverEndsIsCutOff() throws {
        let connection = try Connection(memory: PortMemory(bodies: 800))
        try connection.send(start(1000) + String(repeating: "x", count: 301))
        #expect(try connection.received().hasPrefix("HTTP/1.1 503 "))
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(connection.channel.isActive)
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        #expect(!connection.channel.isActive)
    }

    /// It is read only once the server asks for it.
    @Test func aRequestBehindAnotherHasItsTimeFromItsTurn() throws {
        let connection = try Connection()
        try connection.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n" + start(1000) + "x")
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(600))
        #expect(try connection.received() == "")
        try connection.answer("hello", ["Content-Length": "5"])
        #expect(try connection.received().hasSuffix("hello"))
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(59))
        #expect(connection.channel.isActive)
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        #expect(try connection.received().hasPrefix("HTTP/1.1 408 "))
    }

    /// A byte now and then doesn't keep a request open.
    @Test func aRequestMustArriveInTime() throws {
        let connection = try Connection()
        try connection.send(start(1000))
        for _ in 0..<3 {
            try connection.send("x")
            #expect(try connection.received() == "")
            connection.channel.embeddedEventLoop.advanceTime(by: .seconds(20))
        }
        let answer = try connection.received()
        #expect(answer.hasPrefix("HTTP/1.1 408 "))
        #expect(answer.contains("didn't arrive within 60 s"))
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(11))
        #expect(!connection.channel.isActive)
    }

    /// The server waits for the end of each request and answer.
    @Test func aHostThatStopsWaitsForItsGraceOnly() throws {
        let connection = try Connection(times: PortTimes(grace: .seconds(5)))
        try connection.send(start(1000) + "x")
        let served = try Connection(times: PortTimes(grace: .seconds(5)))
        try served.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        for channel in [connection.channel, served.channel] {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            channel.embeddedEventLoop.advanceTime(by: .seconds(4))
            #expect(channel.isActive)
        }
        try served.answer("hello", ["Content-Length": "5"])
        #expect(try served.received().hasSuffix("hello"))
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        #expect(!connection.channel.isActive)
    }

    /// The server closes the connection as soon as it has written the answer.
    @Test func anAnswerThatIsBeingTakenWhenTheHostStopsArrivesWhole() throws {
        for goesOn in [true, false] {
            let connection = try Connection(times: PortTimes(grace: .seconds(5)))
            let channel = connection.channel
            let socket = FullSocket()
            try channel.pipeline.syncOperations.addHandler(socket, position: .first)
            try connection.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Length": "5"])
            let body = IOData.byteBuffer(ByteBuffer(string: "hello"))
            for part in [HTTPServerResponsePart.head(head), .body(body), .end(nil)] {
                channel.pipeline.syncOperations.write(NIOAny(part), promise: nil)
            }
            channel.flush()
            channel.close(promise: nil)
            #expect(channel.isActive)
            #expect(try connection.received() == "")
            if !goesOn {
                channel.embeddedEventLoop.advanceTime(by: .seconds(6))
                #expect(!channel.isActive)
            }
            socket.isFull = false
            channel.flush()
            if goesOn { #expect(try connection.received().hasSuffix("hello")) }
            #expect(!channel.isActive)
        }
    }

    /// Sends nothing, as long as its client takes nothing.
    private final class FullSocket: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var isFull = true

        func flush(context: ChannelHandlerContext) { if !isFull { context.flush() } }
    }

    @Test func aHeadMustArriveInTime() throws {
        let connection = try Connection()
        try connection.send("GET /a HTTP/1.1\r\n")
        for _ in 0..<4 {
            #expect(connection.channel.isActive)
            connection.channel.embeddedEventLoop.advanceTime(by: .seconds(20))
            if connection.channel.isActive { try connection.send("X: y\r\n") }
        }
        #expect(!connection.channel.isActive)
    }

    @Test func aServerHasTheTimeItNeeds() throws {
        let connection = try Connection()
        try connection.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(600))
        try connection.answer("hello", ["Content-Length": "5"])
        #expect(try connection.received().hasSuffix("hello"))
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(74))
        #expect(connection.channel.isActive)
        connection.channel.embeddedEventLoop.advanceTime(by: .seconds(76))
        #expect(!connection.channel.isActive)
    }

    @Test func aClientHasTheTimeForItsAnswerIfItTakesEnough() throws {
        let connection = try Connection(countsAnswers: false)
        let (channel, socket) = (connection.channel, ClientSocket())
        try channel.pipeline.syncOperations.addHandler(socket, position: .first)
        try connection.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        channel.write(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)), promise: nil)
        channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: "hello"))), promise: nil)
        // While the server makes the rest, there is nothing to take.
        channel.embeddedEventLoop.advanceTime(by: .seconds(310))
        #expect(channel.isActive)
        socket.reads = false
        let rest = ByteBuffer(repeating: 0x78, count: 2_000_000)
        channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(rest)), promise: nil)
        channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
        for _ in 0..<4 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(70))
            socket.read(300_000)
            channel.embeddedEventLoop.advanceTime(by: .seconds(5))
            #expect(channel.isActive)
        }
        socket.read(200_000)
        channel.embeddedEventLoop.advanceTime(by: .seconds(76))
        #expect(!channel.isActive)
    }

    @Test func anAnswerWithoutRoomIsRefusedAndItsConnectionEnds() throws {
        let memory = PortMemory(answers: 400_000)
        let connection = try Connection(memory: memory)
        try connection.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        try connection.answer(String(repeating: "x", count: 100_000), [:])
        #expect(try connection.received().utf8.count > 100_000)
        #expect(memory.answers.figures == (used: 0, peak: 100_000))
        try connection.send("GET /a HTTP/1.1\r\nHost: x\r\nOrigin: https://shop.test\r\n\r\n")
        try connection.answer(String(repeating: "x", count: 160_000), [:])
        let refusal = try connection.received()
        #expect(refusal.hasPrefix("HTTP/1.1 429 "))
        #expect(refusal.contains(#""status":"RESOURCE_EXHAUSTED""#))
        #expect(refusal.contains("Access-Control-Allow-Origin: https://shop.test\r\n"))
        #expect(!connection.channel.isActive)
        #expect(memory.answers.figures == (used: 0, peak: 100_000))
    }

    /// Its request is still on its way.
    @Test func anEarlyAnswerWithoutRoomIsRefusedToo() throws {
        let connection = try Connection(memory: PortMemory(answers: 100_000))
        try connection.send(start(10) + "x")
        try connection.answer(String(repeating: "x", count: 70_000), [:])
        #expect(try connection.received().hasPrefix("HTTP/1.1 429 "))
        #expect(connection.channel.isActive)
        try connection.send("xxxxxxxxx")
        #expect(!connection.channel.isActive)
        #expect(connection.memory.bodies.figures.used == 0)
    }

    /// The body of the one behind it is refused already, and must not be forgotten.
    @Test func twoRefusalsOfOneConnectionGiveBackAllMemory() throws {
        let connection = try Connection(memory: PortMemory(bodies: 800, answers: 100_000))
        try connection.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n" + start(1000) + String(repeating: "x", count: 300))
        try connection.send("x")
        #expect(connection.memory.bodies.figures.used == 300)
        try connection.answer(String(repeating: "x", count: 70_000), [:])
        #expect(try connection.received().hasPrefix("HTTP/1.1 429 "))
        // The rest is read first: closing now would lose the answer.
        #expect(connection.channel.isActive)
        try connection.send(String(repeating: "x", count: 699))
        #expect(!connection.channel.isActive)
        #expect(connection.memory.bodies.figures.used == 0)
    }

    /// What it waits for has begun to be sent, so it can only be cut off.
    @Test func aPartWithoutRoomEndsItsAnswer() throws {
        let connection = try Connection(memory: PortMemory(answers: 100_000))
        try connection.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        let channel = connection.channel
        channel.write(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)), promise: nil)
        channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: "hello"))), promise: nil)
        channel.flush()
        #expect(try connection.received().contains("hello"))
        let part = ByteBuffer(repeating: 0x78, count: 70_000)
        channel.write(HTTPServerResponsePart.body(.byteBuffer(part)), promise: nil)
        #expect(!channel.isActive)
    }

    /// To a client of HTTP/1.0, as proxies are, the end of the connection is that of the answer, and TLS announces a close.
    @Test(arguments: ["1.0", "1.1"], [true, false])
    func anAnswerThatIsCutOffDoesNotEndAsAWholeOne(version: String, hasRoom: Bool) throws {
        let connection = try Connection(memory: PortMemory(answers: 100_000))
        let (channel, closes) = (connection.channel, Closes())
        try channel.pipeline.syncOperations.addHandler(closes, position: .first)
        try connection.send("GET /a HTTP/\(version)\r\nHost: x\r\n\r\n")
        channel.write(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)), promise: nil)
        channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: "hello"))), promise: nil)
        #expect(try connection.received().contains("hello"))
        if hasRoom {
            // The server fails.
            channel.close(promise: nil)
        } else {
            let part = ByteBuffer(repeating: 0x78, count: 70_000)
            channel.write(HTTPServerResponsePart.body(.byteBuffer(part)), promise: nil)
        }
        #expect(!channel.isActive)
        #expect(closes.count == (version == "1.0" ? 0 : 1))
    }

    private final class Closes: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private(set) var count = 0

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            count += 1
            context.close(mode: mode, promise: promise)
        }
    }

    /// Further requests don't keep a connection open whose answers aren't read.
    @Test(arguments: [
        "", "GET /b HTTP/1.1\r\nHost: x\r\n\r\n", "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n",
    ])
    func aClientThatReadsNothingIsCutOff(further: String) throws {
        let connection = try Connection()
        let (channel, socket) = (connection.channel, ClientSocket())
        try channel.pipeline.syncOperations.addHandler(socket, position: .first)
        socket.reads = false
        try connection.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n" + further)
        channel.write(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)), promise: nil)
        let body = ByteBuffer(repeating: 0x78, count: 200_000)
        channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(body)), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(70))
        #expect(channel.isActive)
        #expect(connection.memory.answers.figures.used == 200_000)
        channel.embeddedEventLoop.advanceTime(by: .seconds(90))
        #expect(!channel.isActive)
        #expect(connection.memory.answers.figures.used == 0)
    }
}
