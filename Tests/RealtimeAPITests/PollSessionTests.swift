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
