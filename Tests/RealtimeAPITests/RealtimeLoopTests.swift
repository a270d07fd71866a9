import Dispatch
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import RealtimeModel
import Synchronization
import TestSupport
import Testing

@testable import RealtimeAPI

/// The order in which a loop does its connections' work.
@Suite(.endsHangs) struct RealtimeLoopTests {
    /// What was done, by connection.
    private final class Log: Sendable {
        private let lines = Mutex<[Line]>([])

        struct Line: Equatable {
            var connection: Int
            var work: String
        }

        var all: [Line] { lines.withLock { $0 } }

        func append(_ connection: Int, _ work: String) {
            lines.withLock { $0.append(Line(connection: connection, work: work)) }
        }

        subscript(connection: Int) -> [String] { all.filter { $0.connection == connection }.map(\.work) }
    }

    /// A connection that notes what is done for it.
    private final class Connection: LoopListener {
        let number: Int
        let queue: ConnectionQueue
        private let log: Log

        init(_ number: Int, on loop: RealtimeLoop, _ log: Log) {
            self.number = number
            queue = ConnectionQueue(loop)
            self.log = log
        }

        func receive(_ event: RealtimeListenEvent) { queue.post(.event(self, event)) }

        func push(_ name: String) { receive(.push(RealtimePush(RealtimePath.root, .put(RealtimeNode(.string(name)))))) }

        func answer(_ name: String) { queue.post { [self] in log.append(number, name) } }

        func deliver(_ event: RealtimeListenEvent) {
            guard case .push(let push) = event, case .put(let node) = push.change else { return }
            if case .string(let name)? = node?.leaf { log.append(number, name) }
        }
    }

    private static func loop(_ eventLoop: any EventLoop) -> RealtimeLoop {
        let parts = RealtimeParts(
            service: InMemoryService(),
            credentials: RealtimeCredentials(isDevelopment: true) { $1(.failure(.invalidToken)) }, now: { 0 },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        return RealtimeLoop(eventLoop: eventLoop, parts: parts)
    }

    @Test func answersDoNotWaitForAPushToManyConnections() {
        let (eventLoop, log) = (EmbeddedEventLoop(), Log())
        let loop = Self.loop(eventLoop)
        let listeners = (0..<1000).map { Connection($0, on: loop, log) }
        for listener in listeners { listener.push("change") }
        // It listens to what it writes itself.
        let writer = Connection(-1, on: loop, log)
        writer.push("own change")
        writer.answer("ok")
        writer.push("later change")
        let other = Connection(-2, on: loop, log)
        other.answer("ok")
        eventLoop.run()
        // The sockets are read before the rest.
        #expect(log.all.count < 100)
        #expect(log[-1] == ["own change", "ok", "later change"])
        #expect(log[-2] == ["ok"])
        while log.all.count < 1004 { eventLoop.advanceTime(by: .milliseconds(1)) }
        for listener in listeners { #expect(log[listener.number] == ["change"]) }
    }

    @Test func pushesDoNotWaitForAnswers() {
        let (eventLoop, log) = (EmbeddedEventLoop(), Log())
        let loop = Self.loop(eventLoop)
        for number in 0..<1000 { Connection(number, on: loop, log).answer("ok") }
        Connection(-1, on: loop, log).push("change")
        eventLoop.run()
        #expect(log.all.count < 100)
        #expect(log[-1] == ["change"])
    }

    @Test func aConnectionWithMuchWorkDoesNotDelayOthers() {
        let (eventLoop, log) = (EmbeddedEventLoop(), Log())
        let loop = Self.loop(eventLoop)
        let busy = Connection(0, on: loop, log)
        for number in 0..<1000 { busy.push("\(number)") }
        busy.answer("ok")
        Connection(1, on: loop, log).push("change")
        Connection(2, on: loop, log).answer("ok")
        eventLoop.run()
        // How long a turn waits depends on how long the one before it took.
        for _ in 0..<1_000_000 where log[1].isEmpty || log[2].isEmpty {
            eventLoop.advanceTime(by: .microseconds(20))
        }
        #expect(log.all.count < 200)
        #expect(log[1] == ["change"])
        #expect(log[2] == ["ok"])
        while log.all.count < 1003 { eventLoop.advanceTime(by: .milliseconds(1)) }
        #expect(log[0] == (0..<1000).map { "\($0)" } + ["ok"])
    }

    @Test(arguments: 0..<20) func eachConnectionKeepsItsOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let (eventLoop, log) = (EmbeddedEventLoop(), Log())
        let loop = Self.loop(eventLoop)
        let connections = (0..<10).map { Connection($0, on: loop, log) }
        var expected = connections.map { _ in [String]() }
        for step in 0..<2000 {
            let number = Int.random(in: 0..<connections.count, using: &random)
            expected[number].append("\(step)")
            if Bool.random(using: &random) {
                connections[number].push("\(step)")
            } else {
                connections[number].answer("\(step)")
            }
            if Int.random(in: 0..<100, using: &random) == 0 { eventLoop.advanceTime(by: .microseconds(20)) }
        }
        while log.all.count < 2000 { eventLoop.advanceTime(by: .milliseconds(1)) }
        for connection in connections { #expect(log[connection.number] == expected[connection.number]) }
    }

    private final class Reader: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        private let received: @Sendable () -> Void

        init(_ received: @escaping @Sendable () -> Void) { self.received = received }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { received() }
    }

    /// NIO runs all tasks that are due before it looks at its sockets again.
    @Test func socketsAreReadDuringAPush() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let log = Log()
        let loop = Self.loop(group.next())
        let done = loop.eventLoop.makePromise(of: Int.self)
        let server = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in channel.pipeline.addHandler(Reader { done.succeed(log.all.count) }) }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port).get()
        // The loop goes on once the request and all pushes wait.
        let pushed = DispatchSemaphore(value: 0)
        Connection(0, on: loop, log).queue.post {
            let written = DispatchSemaphore(value: 0)
            client.writeAndFlush(ByteBuffer(string: "request")).whenComplete { _ in written.signal() }
            written.wait()
            pushed.wait()
        }
        for number in 1...10_000 { Connection(number, on: loop, log).push("change") }
        pushed.signal()
        #expect(try await done.futureResult.get() < 10_000)
        try await client.close()
        try await group.shutdownGracefully()
    }
}
