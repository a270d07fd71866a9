import Logging
import NIOCore
import NIOEmbedded
import RealtimeModel
import TestSupport
import Testing

@testable import RealtimeAPI

/// The answer to a read may be of an earlier state than pushes before it, and clients take it for a later one.
@Suite(.endsHangs) struct ReadOrderTests {
    private let database = SlowDatabase()
    private let eventLoop = EmbeddedEventLoop()
    private let connection: RealtimeConnection
    private let transport = PushPauseTests.Transport()

    init() {
        let loop = RealtimeLoop(
            eventLoop: eventLoop,
            parts: RealtimeParts(
                service: InMemoryService(),
                credentials: RealtimeCredentials(isDevelopment: true) { $1(.failure(.invalidToken)) }, now: { 0 },
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })))
        connection = RealtimeConnection(
            .init(database: "n", session: "S"), database, .init(host: "h"), address: 1, loop: loop)
        connection.begin(transport)
        connection.receive(
            .request(number: 1, .listen(ListenKey(path: path("a/b")), nil)), bytes: 100)
        database.notifyListeners(.began(RealtimeListenStart(.unchanged)))
        read()
    }

    /// Lets the connection do its work.
    ///
    /// - Returns: what its client is sent.
    @discardableResult
    private func read() -> [String] {
        eventLoop.run()
        eventLoop.advanceTime(by: .seconds(1))
        return transport.takeRead()
    }

    private func push(_ version: Int64) {
        let target = RealtimeTarget(path("a/b"))
        database.notifyListeners(
            .push(RealtimePush(target, .put(RealtimeNode(.string("\(version)"))), version: version)))
    }

    private func get(_ path: RealtimePath) { connection.receive(.request(number: 2, .get(path, nil)), bytes: 100) }

    @Test(arguments: [[], ["a", "b"], ["a", "b", "c"]]) func pushesThatAnAnswerUndoesAreSentAgain(keys: [String]) {
        get(path(keys.joined(separator: "/")))
        for version: Int64 in 5...8 { push(version) }
        #expect(read() == ["5", "6", "7", "8"])
        database.answerRead(.bytes(Array("1".utf8)), version: 6)
        #expect(read() == ["message", "7", "8"])
        push(9)
        #expect(read() == ["9"])
    }

    @Test func anAnswerOfTheLastStateUndoesNothing() {
        get(.root)
        push(5)
        database.answerRead(.bytes(Array("1".utf8)), version: 5)
        #expect(read() == ["5", "message"])
    }

    @Test func whatIsElsewhereIsNotSentAgain() {
        get(path("a/c"))
        push(5)
        database.answerRead(.bytes(Array("1".utf8)), version: 4)
        #expect(read() == ["5", "message"])
    }

    @Test func whatPassesAnAnswerThatWaitsIsSentAgain() {
        get(.root)
        connection.receive(.request(number: 3, .get(path("a"), nil)), bytes: 100)
        database.answerRead(.bytes(Array("1".utf8)), version: 4, number: 1)
        push(5)
        // Requests are answered in order.
        #expect(read() == ["5"])
        database.answerRead(.bytes(Array("2".utf8)), version: 5)
        #expect(read() == ["message", "message", "5"])
    }

    @Test func aReadWaitsForTheListensBeforeIt() {
        connection.receive(.request(number: 3, .listen(ListenKey(path: path("a")), nil)), bytes: 100)
        get(.root)
        read()
        #expect(database.readCount == 0)
        database.notifyListeners(.began(RealtimeListenStart(.unchanged)))
        read()
        #expect(database.readCount == 1)
    }
}

private func path(_ text: String) -> RealtimePath {
    RealtimePath(unchecked: text.split(separator: "/").map { RealtimeKey(unchecked: String($0)) })
}
