import Dispatch
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import RealtimeModel
import Sharing
import Synchronization
import TestSupport
import Testing

@testable import RealtimeAPI

/// What one connection may hold.
@Suite(.endsHangs) struct ConnectionBoundsTests {
    private static func parts(
        _ service: any RealtimeService = InMemoryService(), bodies: MemoryBudget? = nil, answers: MemoryBudget? = nil,
        listenMemory: MemoryBudget? = nil
    ) -> RealtimeParts {
        RealtimeParts(
            service: service, credentials: RealtimeCredentials(isDevelopment: true) { $1(.failure(.invalidToken)) },
            bodies: bodies, answers: answers, listenMemory: listenMemory, now: { 0 },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    /// The loop's other connections are served before more of a large body is read.
    @Test func aConnectionIsReadOnceAtATime() async throws {
        let (found, find) = AsyncStream.makeStream(of: UInt?.self)
        let port = try await RealtimePort.start(
            Self.parts(), group: MultiThreadedEventLoopGroup.singleton, host: "127.0.0.1", port: 0,
            grace: .milliseconds(100),
            secure: { channel in find.yield(try channel.syncOptions?.getOption(.maxMessagesPerRead)) })
        let client = try await PortClient(port: port.port)
        for await reads in found {
            #expect(reads == 1)
            break
        }
        try await client.close()
        try await port.stop()
    }

    // MARK: Sessions

    /// Each takes some time, and a client may have thousands.
    @Test(arguments: [(10, 11), (70, 0)]) func manyListensEndBesideTheLoop(count: Int, atOnce: Int) {
        let connections = TestConnections()
        let (connection, database) = (connections.connections[0], connections.database)
        for number in 0..<count {
            let path = RealtimePath(unchecked: [RealtimeKey(unchecked: "p\(number)")])
            connection.receive(.request(number: Int64(number + 2), .listen(ListenKey(path: path), nil)), bytes: 10)
            database.notifyListeners(.began(RealtimeListenStart(.unchanged)))
            connections.eventLoop.run()
        }
        #expect(database.listenCount == count + 1)
        let longWork = connection.loop.parts.longWork
        let (gate, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        longWork.add(of: 9) { gate.wait() }
        connection.finish()
        #expect(database.cancelCount == atOnce)
        gate.signal()
        longWork.add(of: 9) { isDone.signal() }
        isDone.wait()
        #expect(database.cancelCount == count + 1)
    }

    /// A client that takes nothing until the test lets it.
    private final class StuckTransport: RealtimeTransport {
        var isReading = true
        var isAborted = false
        var isClosed = false
        var isReady = false
        var messages = 0

        func send(_ message: [UInt8]) { messages += 1 }
        func send(_ push: RealtimePush, tag: Int64?) {}
        func beginParts(units: Int) {}
        func sendPart(_ part: [UInt8]) {}
        func endParts() {}
        func flush() {}
        func setReading(_ isReading: Bool) { self.isReading = isReading }
        func close() { isClosed = true }
        func abort() { isAborted = true }
    }

    private func connection(
        _ database: any RealtimeDatabase, _ parts: RealtimeParts
    ) -> (RealtimeConnection, StuckTransport) {
        let connection = RealtimeConnection(
            .init(database: "n", session: "S"), database, .init(host: "h"), address: 1,
            loop: RealtimeLoop(eventLoop: EmbeddedEventLoop(), parts: parts))
        let transport = StuckTransport()
        connection.begin(transport)
        return (connection, transport)
    }

    @Test(arguments: [RealtimeMessage.ping, .request(number: 1, .statistics), .request(number: 1, .invalid(.stale))])
    func aClientThatAsksAndDoesNotReadIsNotRead(message: RealtimeMessage) throws {
        let (connection, transport) = connection(InMemoryService().memory("n"), Self.parts())
        for _ in 0..<10_000 where transport.isReading { connection.receive(message, bytes: 30) }
        #expect(!transport.isReading)
    }

    @Test func unreadAnswersAreHeldInTheirBudget() throws {
        let budget = MemoryBudget(total: 400_000)
        let (connection, transport) = connection(InMemoryService().memory("n"), Self.parts(answers: budget))
        for _ in 0..<10_000 where !transport.isAborted { connection.receive(.ping, bytes: 30) }
        #expect(transport.isAborted)
        #expect(budget.figures.used == 0)
        #expect(budget.figures.peak > 65_536)
    }

    @Test func valuesThatAClientDoesNotTakeCount() throws {
        let budget = MemoryBudget(total: 2_000_000)
        let database = SlowDatabase()
        let (connection, transport) = connection(database, Self.parts(answers: budget))
        connection.receive(.request(number: 1, .get(.root, nil)), bytes: 30)
        database.answerRead(.bytes(Array(repeating: UInt8(ascii: "1"), count: 200_000)))
        let eventLoop = try #require(connection.loop.eventLoop as? EmbeddedEventLoop)
        eventLoop.run()
        #expect(budget.figures.used > 190_000)
        transport.isReady = true
        connection.transportIsReady()
        #expect(budget.figures.used == 0)
    }

    private func write() -> RealtimeMessage {
        .request(
            number: 1,
            .write(.set(RealtimeTarget(RealtimePath.root), RealtimeWriteValue(nil), ifHash: nil)))
    }

    @Test(arguments: [false, true]) func messagesAreHeldUntilTheyAreAnswered(leaves: Bool) {
        let budget = MemoryBudget(total: 10_000_000)
        let database = SlowDatabase()
        let (connection, transport) = connection(database, Self.parts(bodies: budget))
        connection.receive(write(), bytes: 1_000_000)
        connection.receive(write(), bytes: 500_000)
        #expect(budget.figures.used == 1_500_000)
        if leaves {
            connection.finish()
            #expect(budget.figures.used == 1_500_000)
        }
        database.answerWrite()
        (connection.loop.eventLoop as? EmbeddedEventLoop)?.run()
        #expect(budget.figures.used == 500_000)
        database.answerWrite()
        (connection.loop.eventLoop as? EmbeddedEventLoop)?.run()
        #expect(budget.figures.used == 0)
        #expect(!transport.isAborted)
    }

    @Test func aClientThatHoldsTooMuchIsClosed() {
        let budget = MemoryBudget(total: 1_000_000)
        let (connection, transport) = connection(SlowDatabase(), Self.parts(bodies: budget))
        for _ in 0..<10 { connection.receive(write(), bytes: 60_000) }
        #expect(transport.isAborted)
        #expect(budget.figures.peak <= 375_000)
    }

    // MARK: Listens

    private func listen(_ number: Int, textBytes: Int) -> RealtimeMessage {
        let key = ListenKey(
            path: .root, query: RealtimeQuery(limit: .first(number)), tag: Int64(number),
            queryText: Array(repeating: UInt8(ascii: " "), count: textBytes))
        return .request(number: Int64(number), .listen(key, nil))
    }

    @Test(arguments: [false, true]) func listensAreHeldInTheirBudget(leaves: Bool) {
        let budget = MemoryBudget(total: 600_000)
        let (connection, transport) = connection(SlowDatabase(), Self.parts(listenMemory: budget))
        for number in 1...4 { connection.receive(listen(number, textBytes: 16_000), bytes: 16_100) }
        #expect(budget.figures.used == 4 * (1024 + 2 * 16_000))
        #expect(!transport.isAborted)
        if leaves {
            connection.finish()
        } else {
            for number in 5...10 { connection.receive(listen(number, textBytes: 16_000), bytes: 16_100) }
            #expect(transport.isAborted)
        }
        #expect(budget.figures.used == 0)
        #expect(budget.figures.peak <= 225_000)
    }

    @Test func aFewListensNeedNoBudget() {
        let budget = MemoryBudget(total: 1)
        let (connection, transport) = connection(SlowDatabase(), Self.parts(listenMemory: budget))
        for number in 1...16 { connection.receive(listen(number, textBytes: 100), bytes: 200) }
        #expect(!transport.isAborted)
        #expect(budget.figures.used == 0)
    }

    // MARK: Overload

    @Test func aListenWithoutRoomBeginsAgainAfterAPause() throws {
        let database = SlowDatabase()
        let (connection, transport) = connection(database, Self.parts())
        let eventLoop = try #require(connection.loop.eventLoop as? EmbeddedEventLoop)
        connection.receive(listen(1, textBytes: 100), bytes: 200)
        #expect(database.listenCount == 1)
        for pause in [500, 1_000] as [Int64] {
            database.endListen(.unavailable("full"))
            eventLoop.run()
            #expect(connection.loop.counted.listens == 0)
            eventLoop.advanceTime(by: .milliseconds(pause / 2 - 1))
            #expect(database.listenCount == 0)
            eventLoop.advanceTime(by: .milliseconds(pause / 2 + 1))
            #expect(database.listenCount == 1)
            #expect(connection.loop.counted.listens == 1)
        }
        database.endListen(.unavailable("full"))
        eventLoop.run()
        connection.finish()
        eventLoop.advanceTime(by: .seconds(2))
        #expect(database.listenCount == 0)
        #expect(!transport.isAborted)
    }

    @Test func aReadWithoutRoomIsMadeAgainAfterAPause() throws {
        let database = SlowDatabase()
        let (connection, transport) = connection(database, Self.parts())
        let eventLoop = try #require(connection.loop.eventLoop as? EmbeddedEventLoop)
        transport.isReady = true
        connection.transportIsReady()
        let greetings = transport.messages
        connection.receive(.request(number: 1, .get(.root, nil)), bytes: 30)
        database.failRead(.unavailable("full"))
        eventLoop.run()
        #expect(database.readCount == 0)
        eventLoop.advanceTime(by: .milliseconds(500))
        #expect(database.readCount == 1)
        #expect(transport.messages == greetings)
        database.answerRead(.bytes(Array("1".utf8)))
        eventLoop.run()
        #expect(transport.messages == greetings + 1)
    }

    @Test func aWriteWithoutRoomClosesTheConnectionAfterAPause() throws {
        let database = SlowDatabase()
        let (connection, transport) = connection(database, Self.parts())
        let eventLoop = try #require(connection.loop.eventLoop as? EmbeddedEventLoop)
        transport.isReady = true
        connection.transportIsReady()
        let greetings = transport.messages
        connection.receive(write(), bytes: 30)
        database.failWrite(.unavailable("full"))
        eventLoop.run()
        eventLoop.advanceTime(by: .milliseconds(1_999))
        #expect(!transport.isClosed)
        eventLoop.advanceTime(by: .milliseconds(2_001))
        #expect(transport.isClosed)
        #expect(transport.messages == greetings)
    }

    // MARK: Sockets

    private final class Recorder: SocketReceiver {
        private let received = Mutex(0)

        var count: Int { received.withLock { $0 } }

        func receive(_ message: RealtimeMessage, bytes: Int) { received.withLock { $0 += 1 } }
        func socketIsReady() {}
        func socketClosed() {}
    }

    private static func frame(_ opcode: WebSocketOpcode, _ text: String) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: opcode, maskKey: [0, 0, 0, 0], data: ByteBuffer(string: text))
    }

    private func socket(_ channel: EmbeddedChannel, answersPings: Bool = true) throws -> WebSocketHandler {
        let loop = RealtimeLoop(eventLoop: channel.eventLoop, parts: Self.parts())
        let socket = WebSocketHandler(
            channel, to: Recorder(), on: ConnectionQueue(loop), address: 1, answersPings: answersPings, loop: loop)
        try channel.pipeline.syncOperations.addHandler(socket)
        if !answersPings { try channel.pipeline.syncOperations.addHandler(WebSocketHandler.SendObserver(socket)) }
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return socket
    }

    @Test func onlyTheLastPingOfAClientThatDoesNotReadIsAnswered() throws {
        let channel = EmbeddedChannel()
        _ = try socket(channel)
        try channel.writeInbound(Self.frame(.ping, "a"))
        #expect(try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) }?.last == "a")
        channel.isWritable = false
        for number in 0..<1_000 { try channel.writeInbound(Self.frame(.ping, "\(number)")) }
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        #expect(try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) }?.hasSuffix("999") == true)
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
        _ = try channel.finish()
    }

    /// Java's admin library ends its connection at a ping, and says nothing itself as long as it is sent something.
    @Test(arguments: [true, false]) func onlyAClientThatAnswersPingsIsSentOne(answersPings: Bool) throws {
        let channel = EmbeddedChannel()
        let socket = try socket(channel, answersPings: answersPings)
        let start = channel.embeddedEventLoop.now
        var pings = 0
        for second in stride(from: Int64(0), through: 200, by: 5) where channel.isActive {
            channel.writeAndFlush(ByteBuffer(string: "push"), promise: nil)
            socket.look(now: start + .seconds(second))
            while let sent = try channel.readOutbound(as: ByteBuffer.self) {
                if sent.getInteger(at: sent.readerIndex, as: UInt8.self) == 0x89 { pings += 1 }
            }
        }
        #expect(pings == (answersPings ? 1 : 0))
        #if os(Linux)
            // One that can't be asked may die while it is sent something.
            let timeout = channel.options.first { $0.option is ChannelOptions.Types.SocketOption }?.value
            #expect(timeout as? SocketOptionValue == (answersPings ? nil : 90_000))
        #endif
        #expect(channel.isActive == !answersPings)
        if !answersPings {
            socket.look(now: start + .seconds(290))
            #expect(channel.isActive)
            socket.look(now: start + .seconds(291))
        }
        #expect(!channel.isActive)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test(arguments: [true, false]) func aSocketIsClosedWhenItsClientTakesNothing(takes: Bool) throws {
        let channel = EmbeddedChannel()
        let socket = try socket(channel)
        // Otherwise its silence would end it.
        socket.setReading(false)
        let start = NIODeadline.now()
        for second in stride(from: Int64(0), through: 75, by: 5) {
            if second == 0 || takes { channel.write(ByteBuffer(string: "x"), promise: nil) }
            socket.look(now: start + .seconds(second))
        }
        #expect(channel.isActive)
        socket.look(now: start + .seconds(80))
        #expect(channel.isActive == takes)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    /// Its client lives, and the part of the message takes memory.
    @Test(arguments: [("2", true), ("part", false)]) func aMessageThatDoesNotGoOnEndsItsSocket(
        start: String, isWhole: Bool
    ) throws {
        let channel = EmbeddedChannel()
        let socket = try socket(channel)
        func look(after seconds: Int64) throws {
            channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
            try channel.writeInbound(Self.frame(.ping, ""))
            socket.look(now: channel.embeddedEventLoop.now)
        }
        var first = Self.frame(.text, start)
        first.fin = isWhole
        try channel.writeInbound(first)
        if isWhole { try channel.writeInbound(Self.frame(.text, "part")) }
        try look(after: 5)
        for _ in 0..<3 {
            try look(after: 50)
            socket.received(65_536)
        }
        #expect(channel.isActive)
        try look(after: 5)
        try look(after: 61)
        #expect(!channel.isActive)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func messagesThatEndMayComeSlowly() throws {
        let channel = EmbeddedChannel()
        let socket = try socket(channel)
        for _ in 0..<10 {
            for text in ["2", #"{"t":"c","#] { try channel.writeInbound(Self.frame(.text, text)) }
            socket.look(now: channel.embeddedEventLoop.now)
            channel.embeddedEventLoop.advanceTime(by: .seconds(40))
            try channel.writeInbound(Self.frame(.text, #""d":{"t":"p","d":null}}"#))
        }
        #expect(channel.isActive)
        _ = try channel.finish()
    }

    @Test func aFrameThatIsNotWholeCounts() throws {
        let budget = MemoryBudget(total: 1_000_000)
        let channel = EmbeddedChannel()
        let loop = RealtimeLoop(eventLoop: channel.eventLoop, parts: Self.parts(bodies: budget))
        let socket = WebSocketHandler(channel, to: Recorder(), on: ConnectionQueue(loop), address: 1, loop: loop)
        try channel.pipeline.syncOperations.addHandlers([
            WebSocketHandler.ByteCounter(socket),
            ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: WebSocketHandler.maxFrameBytes)), socket,
        ])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        // A text of 300,000 bytes.
        var header = ByteBuffer(bytes: [0x81, 0xFF])
        header.writeInteger(300_000)
        header.writeInteger(UInt32(0))
        try channel.writeInbound(header)
        for _ in 0..<4 { try channel.writeInbound(ByteBuffer(repeating: UInt8(ascii: " "), count: 60_000)) }
        #expect(budget.figures.used > 150_000)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    // MARK: Requests

    @Test(arguments: [(1, false), (2_000, true)]) func aLargeBodyMustGoOn(bytes: Int, isServed: Bool) throws {
        let channel = EmbeddedChannel()
        let loop = RealtimeLoop(eventLoop: channel.eventLoop, parts: Self.parts())
        let connection = RESTConnection(loop: loop)
        try channel.pipeline.syncOperations.addHandler(connection)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let head = HTTPRequestHead(
            version: .http1_1, method: .PUT, uri: "/a.json?ns=n", headers: ["Host": "h", "Content-Length": "1000000"])
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(repeating: 32, count: 70_000)))
        for _ in 0..<70 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            guard channel.isActive else { break }
            try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(repeating: 32, count: bytes)))
            connection.look(now: channel.embeddedEventLoop.now)
        }
        #expect(channel.isActive == isServed)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    /// A read may have thousands of requests, and each takes many times its bytes.
    @Test func aClientThatSendsTooManyRequestsAheadIsCutOff() throws {
        let channel = EmbeddedChannel()
        let loop = RealtimeLoop(eventLoop: channel.eventLoop, parts: Self.parts())
        try channel.pipeline.syncOperations.addHandler(RESTConnection(loop: loop))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        // Its client takes nothing, so its requests wait.
        channel.isWritable = false
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/a.json?ns=n", headers: ["Host": "h"])
        for number in 1...400 where channel.isActive {
            let part: HTTPServerRequestPart = number.isMultiple(of: 2) ? .end(nil) : .head(head)
            try channel.writeInbound(part)
            if number == 384 { #expect(channel.isActive) }
        }
        #expect(!channel.isActive)
        #expect(loop.connectionCount == 0)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    /// A client that leaves as soon as it is sent something.
    private final class LeavingClient: ChannelOutboundHandler {
        typealias OutboundIn = HTTPServerResponsePart

        /// What its request does then.
        var onLeave: () -> Void = {}

        func flush(context: ChannelHandlerContext) {
            context.close(promise: nil)
            onLeave()
        }
    }

    /// The loop would keep it, and its timer, for ever.
    @Test func aStreamWhoseClientLeavesAtItsBeginningHasNoTimer() throws {
        let (channel, client) = (EmbeddedChannel(), LeavingClient())
        let loop = RealtimeLoop(eventLoop: channel.eventLoop, parts: Self.parts())
        let connection = RESTConnection(loop: loop)
        try channel.pipeline.syncOperations.addHandlers([client, connection])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let stream = ValueStream(.root, form: .export, until: .init(.admin), connection)
        client.onLeave = { stream.cancel() }
        stream.deliver(.began(RealtimeListenStart(.value(.bytes(Array("1".utf8))))))
        #expect(!channel.isActive)
        #expect(stream.keepAlive == nil)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func aProfileWhoseClientLeavesAtItsBeginningHasNoTimer() throws {
        let (channel, client) = (EmbeddedChannel(), LeavingClient())
        let loop = RealtimeLoop(eventLoop: channel.eventLoop, parts: Self.parts())
        let connection = RESTConnection(loop: loop)
        try channel.pipeline.syncOperations.addHandlers([client, connection])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let profile = DatabaseProfile()
        let stream = ProfileStream(profile, until: .init(.admin), connection)
        client.onLeave = { stream.cancel() }
        let hasBegun = stream.begin()
        #expect(hasBegun)
        #expect(!channel.isActive)
        #expect(stream.keepAlive == nil)
        #expect(!profile.isWatched)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    /// The others were ended when the stop began. The host would wait for these as long as it may.
    @Test(arguments: [true, false]) func aStreamThatBeginsWhileThePortStopsEnds(isProfile: Bool) throws {
        let channel = EmbeddedChannel()
        let loop = RealtimeLoop(eventLoop: channel.eventLoop, parts: Self.parts())
        let connection = RESTConnection(loop: loop)
        try channel.pipeline.syncOperations.addHandler(connection)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        loop.isStopping = true
        if isProfile {
            let hasBegun = ProfileStream(DatabaseProfile(), until: .init(.admin), connection).begin()
            #expect(hasBegun)
        } else {
            let stream = ValueStream(.root, form: .export, until: .init(.admin), connection)
            stream.deliver(.began(RealtimeListenStart(.value(.bytes(Array("1".utf8))))))
        }
        var text = ""
        var isEnded = false
        while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
            switch part {
            case .head: break
            case .body(.byteBuffer(let bytes)): text += String(buffer: bytes)
            case .body: break
            case .end: isEnded = true
            }
        }
        #expect(text.contains("data\":1") == !isProfile)
        #expect(isEnded)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func noWebSocketBeginsWhileThePortStops() throws {
        let channel = EmbeddedChannel()
        let loop = RealtimeLoop(eventLoop: channel.eventLoop, parts: Self.parts())
        try channel.pipeline.syncOperations.addHandler(RESTConnection(loop: loop))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        loop.isStopping = true
        let headers: HTTPHeaders = [
            "Host": "h", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        ]
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/.ws?v=5&ns=n", headers: headers)
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        try channel.writeInbound(HTTPServerRequestPart.end(nil))
        guard case .head(let answer)? = try channel.readOutbound(as: HTTPServerResponsePart.self) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.status == .serviceUnavailable)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test(arguments: [(300_000, HTTPResponseStatus.ok), (400_000, .serviceUnavailable)])
    func anAnswerThatIsNotTakenCounts(bytes: Int, status: HTTPResponseStatus) throws {
        let budget = MemoryBudget(total: 1_000_000)
        let channel = EmbeddedChannel()
        let loop = RealtimeLoop(eventLoop: channel.eventLoop, parts: Self.parts(answers: budget))
        let connection = RESTConnection(loop: loop)
        try channel.pipeline.syncOperations.addHandler(connection)
        connection.send(.ok, [:], ByteBuffer(repeating: 32, count: bytes))
        #expect(budget.figures.peak == (status == .ok ? bytes : 0))
        // A test's channel takes all.
        #expect(budget.figures.used == 0)
        guard case .head(let head) = try channel.readOutbound(as: HTTPServerResponsePart.self) else { return }
        #expect(head.status == status)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func aLargeMessageIsHeldWhileItIsRead() async throws {
        let budget = MemoryBudget(total: 10_000_000)
        let parts = Self.parts(bodies: budget)
        let channel = NIOAsyncTestingChannel()
        let loop = RealtimeLoop(eventLoop: channel.testingEventLoop, parts: parts)
        let recorder = Recorder()
        try await channel.testingEventLoop.submit {
            let socket = WebSocketHandler(channel, to: recorder, on: ConnectionQueue(loop), address: 1, loop: loop)
            try channel.pipeline.syncOperations.addHandler(socket)
        }.get()
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
        let gate = DispatchSemaphore(value: 0)
        parts.longWork.add(of: 1) { gate.wait() }
        let text = #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"a","d":"\#(String(repeating: "x", count: 400_000))"}}}"#
        try await channel.writeInbound(Self.frame(.text, text))
        try await channel.writeInbound(Self.frame(.text, text))
        #expect(budget.figures.used > 700_000)
        gate.signal()
        while recorder.count < 2 { await channel.testingEventLoop.run() }
        try await channel.testingEventLoop.submit { #expect(budget.figures.used == 0) }.get()
        _ = try await channel.finish(acceptAlreadyClosed: true)
    }
}
