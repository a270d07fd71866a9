import Dispatch
import Logging
import NIOCore
import NIOEmbedded
import RealtimeModel
import Sharing
import Synchronization
import Testing
import TextFormats

@testable import RealtimeAPI

/// A session that polls and goes on by a WebSocket.
@Suite struct PollSessionTests {
    private func poll(_ session: PollSession, _ number: Int, _ message: String) {
        let data = Base64.encode(Array(message.utf8)).replacing("=", with: ".")
        _ = session.poll(password: "P", [.init(number: number, count: 1, data: data)]) { _ in }
    }

    /// Pieces behind the last message before the WebSocket, whose memory is then counted for nothing.
    @Test func piecesBehindTheSwitchAreForgotten() throws {
        let channel = EmbeddedChannel()
        let budget = MemoryBudget(total: 400_000)
        let parts = RealtimeParts(
            service: InMemoryService(),
            credentials: RealtimeCredentials(isDevelopment: true) { $1(.failure(.invalidToken)) }, bodies: budget,
            now: { 0 }, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let loop = RealtimeLoop(eventLoop: channel.eventLoop, parts: parts)
        let connection = RealtimeConnection(
            .init(database: "n", session: "S"), SlowDatabase(), .init(host: "h"), address: 1, loop: loop)
        let session = PollSession(connection, callback: "1", password: "P", address: 1)
        session.start { _ in }
        let offered = OfferedSocket()
        let socket = WebSocketHandler(channel, to: offered, on: connection.queue, address: 1, loop: loop)
        try channel.pipeline.syncOperations.addHandler(socket)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        #expect(offered.offer(WebSocketTransport(socket, channel), to: session) == true)
        offered.receive(.switchTransport, bytes: 0)
        let end = Base64.encode(Array(#"{"t":"c","d":{"t":"n","d":{}}}"#.utf8)).replacing("=", with: ".")
        let piece = String(repeating: "A", count: 100_000)
        // More than the client's part of the budget: it would be broken off again and again.
        _ = session.poll(
            password: "P",
            [.init(number: 0, count: 1, data: end)] + (1...3).map { .init(number: $0, count: 5, data: piece) }
        ) { _ in }
        channel.embeddedEventLoop.run()
        #expect(budget.figures.used == 0)
        offered.receive(.request(number: 2, .statistics), bytes: 1)
        channel.embeddedEventLoop.run()
        var frames: [String] = []
        while var frame = try channel.readOutbound(as: ByteBuffer.self) {
            frame.moveReaderIndex(forwardBy: 2)
            frames.append(String(buffer: frame))
        }
        #expect(frames.last == #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":""}}}"#)
        connection.finish()
        channel.embeddedEventLoop.run()
        #expect(budget.figures.used == 0)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    /// The session and its socket would hold each other forever.
    @Test func aSessionThatHasSwitchedIsForgottenWithItsSocket() throws {
        let channel = EmbeddedChannel()
        let parts = RealtimeParts(
            service: InMemoryService(),
            credentials: RealtimeCredentials(isDevelopment: true) { $1(.failure(.invalidToken)) }, now: { 0 },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let loop = RealtimeLoop(eventLoop: channel.eventLoop, parts: parts)
        let ended = WeakSession(try switchedSession(on: channel, loop))
        #expect(!ended.isForgotten)
        channel.close(promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .minutes(10))
        #expect(ended.isForgotten)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    /// A session that has gone over to the channel's WebSocket.
    private func switchedSession(on channel: EmbeddedChannel, _ loop: RealtimeLoop) throws -> PollSession {
        let connection = RealtimeConnection(
            .init(database: "n", session: "S"), SlowDatabase(), .init(host: "h"), address: 1, loop: loop)
        let session = PollSession(connection, callback: "1", password: "P", address: 1)
        session.start { _ in }
        let offered = OfferedSocket()
        let socket = WebSocketHandler(channel, to: offered, on: connection.queue, address: 1, loop: loop)
        try channel.pipeline.syncOperations.addHandler(socket)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        #expect(offered.offer(WebSocketTransport(socket, channel), to: session) == true)
        offered.receive(.switchTransport, bytes: 0)
        poll(session, 0, #"{"t":"c","d":{"t":"n","d":{}}}"#)
        channel.embeddedEventLoop.run()
        return session
    }

    /// Its connection has ended, and would never let go of the WebSocket that it went over to.
    @Test func aSessionThatEndsBeforeItHasSwitchedIsForgottenWithItsSocket() throws {
        let channel = EmbeddedChannel()
        let parts = RealtimeParts(
            service: InMemoryService(),
            credentials: RealtimeCredentials(isDevelopment: true) { $1(.failure(.invalidToken)) }, now: { 0 },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let loop = RealtimeLoop(eventLoop: channel.eventLoop, parts: parts)
        let ended = WeakSession(try endedSession(on: channel, loop))
        #expect(!ended.isForgotten)
        // The WebSocket was closed with it.
        #expect(!channel.isActive)
        channel.close(promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .minutes(10))
        #expect(ended.isForgotten)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    /// A session that has ended while its client was going over to the channel's WebSocket.
    private func endedSession(on channel: EmbeddedChannel, _ loop: RealtimeLoop) throws -> PollSession {
        let connection = RealtimeConnection(
            .init(database: "n", session: "S"), SlowDatabase(), .init(host: "h"), address: 1, loop: loop)
        let session = PollSession(connection, callback: "1", password: "P", address: 1)
        session.start { _ in }
        let offered = OfferedSocket()
        let socket = WebSocketHandler(channel, to: offered, on: connection.queue, address: 1, loop: loop)
        try channel.pipeline.syncOperations.addHandler(socket)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        #expect(offered.offer(WebSocketTransport(socket, channel), to: session) == true)
        poll(session, 0, #"{"t":"c","d":{"t":"n","d":{}}}"#)
        // Invalid, so that the session ends.
        poll(session, 1, "x")
        channel.embeddedEventLoop.run()
        offered.receive(.switchTransport, bytes: 0)
        channel.embeddedEventLoop.run()
        return session
    }

    /// The value would be lost: one part of it is with the poll, and the rest without a beginning.
    @Test func aValueThatIsBeingSentGoesToTheWebSocketWhole() throws {
        let channel = EmbeddedChannel()
        let database = SlowDatabase()
        let parts = RealtimeParts(
            service: InMemoryService(),
            credentials: RealtimeCredentials(isDevelopment: true) { $1(.failure(.invalidToken)) }, now: { 0 },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let loop = RealtimeLoop(eventLoop: channel.eventLoop, parts: parts)
        let connection = RealtimeConnection(
            .init(database: "n", session: "S"), database, .init(host: "h"), address: 1, loop: loop)
        let session = PollSession(connection, callback: "1", password: "P", address: 1)
        session.start { _ in }
        poll(session, 0, #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"/x"}}}"#)
        channel.embeddedEventLoop.run()
        let stream = ManualStream()
        database.answerRead(.stream(stream, units: 9))
        channel.embeddedEventLoop.run()
        stream.give("[1,2")
        channel.embeddedEventLoop.run()
        // The switch.
        let offered = OfferedSocket()
        let socket = WebSocketHandler(channel, to: offered, on: connection.queue, address: 1, loop: loop)
        try channel.pipeline.syncOperations.addHandler(socket)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        #expect(offered.offer(WebSocketTransport(socket, channel), to: session) == true)
        offered.receive(.switchTransport, bytes: 0)
        poll(session, 1, #"{"t":"c","d":{"t":"n","d":{}}}"#)
        channel.embeddedEventLoop.run()
        stream.give(",3,4]")
        channel.embeddedEventLoop.run()
        offered.receive(.request(number: 2, .statistics), bytes: 1)
        stream.give(nil)
        channel.embeddedEventLoop.run()
        var frames: [String] = []
        while var frame = try channel.readOutbound(as: ByteBuffer.self) {
            frame.moveReaderIndex(forwardBy: 2)
            frames.append(String(buffer: frame))
        }
        #expect(
            frames == [
                #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":[1,2,3,4]}}}"#, #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":""}}}"#,
            ])
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    /// A timer for each poll would stay for 20 seconds, and a second poll is answered at once.
    @Test func pollsShareATimer() {
        let eventLoop = CountingLoop()
        let parts = RealtimeParts(
            service: InMemoryService(),
            credentials: RealtimeCredentials(isDevelopment: true) { $1(.failure(.invalidToken)) }, now: { 0 },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let loop = RealtimeLoop(eventLoop: eventLoop, parts: parts)
        let connection = RealtimeConnection(
            .init(database: "n", session: "S"), SlowDatabase(), .init(host: "h"), address: 1, loop: loop)
        let session = PollSession(connection, callback: "1", password: "P", address: 1)
        session.start { _ in }
        // The first has the session's first messages.
        _ = session.poll(password: "P", []) { _ in }
        eventLoop.embedded.advanceTime(by: .milliseconds(1))
        let answers = AnswerCount()
        for _ in 1...100 {
            _ = session.poll(password: "P", []) { _ in answers.count.add(1, ordering: .relaxed) }
            eventLoop.embedded.advanceTime(by: .milliseconds(1))
        }
        #expect(answers.count.load(ordering: .relaxed) == 99)
        #expect(eventLoop.timers.load(ordering: .relaxed) < 10)
        // Each is held for as long as before.
        eventLoop.embedded.advanceTime(by: .seconds(19))
        #expect(answers.count.load(ordering: .relaxed) == 99)
        eventLoop.embedded.advanceTime(by: .seconds(1))
        #expect(answers.count.load(ordering: .relaxed) == 100)
        _ = session.poll(password: "P", []) { _ in answers.count.add(1, ordering: .relaxed) }
        eventLoop.embedded.advanceTime(by: .seconds(19))
        #expect(answers.count.load(ordering: .relaxed) == 100)
        eventLoop.embedded.advanceTime(by: .seconds(1))
        #expect(answers.count.load(ordering: .relaxed) == 101)
        connection.finish()
        eventLoop.embedded.advanceTime(by: .minutes(10))
    }
}

private final class AnswerCount: Sendable {
    let count = Atomic(0)
}

/// Counts what is scheduled for later than a second from then.
private final class CountingLoop: EventLoop {
    let embedded = EmbeddedEventLoop()
    let timers = Atomic(0)

    var inEventLoop: Bool { embedded.inEventLoop }

    var now: NIODeadline { embedded.now }

    func execute(_ task: @escaping @Sendable () -> Void) { embedded.execute(task) }

    @discardableResult func scheduleTask<T>(
        deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T
    ) -> Scheduled<T> {
        if deadline > now + .seconds(1) { timers.add(1, ordering: .relaxed) }
        return embedded.scheduleTask(deadline: deadline, task)
    }

    @discardableResult func scheduleTask<T>(
        in time: TimeAmount, _ task: @escaping @Sendable () throws -> T
    ) -> Scheduled<T> {
        scheduleTask(deadline: now + time, task)
    }

    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        embedded.shutdownGracefully(queue: queue, callback)
    }
}

private final class WeakSession {
    private weak var session: PollSession?

    init(_ session: PollSession) { self.session = session }

    var isForgotten: Bool { session == nil }
}

/// A value whose pieces a test gives.
private final class ManualStream: RealtimeContentStream {
    private let waiting = Mutex<(@Sendable (Result<[UInt8]?, RealtimeServiceError>) -> Void)?>(nil)

    func next(_ completion: @escaping @Sendable (Result<[UInt8]?, RealtimeServiceError>) -> Void) {
        waiting.withLock { $0 = completion }
    }

    func give(_ piece: String?) {
        let completion = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        completion?(.success(piece.map { Array($0.utf8) }))
    }

    func cancel() {}
}
