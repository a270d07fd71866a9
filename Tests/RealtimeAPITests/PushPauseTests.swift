import Logging
import NIOCore
import NIOEmbedded
import RealtimeModel
import TestSupport
import Testing

@testable import RealtimeAPI

/// Pushes that come again and again to many connections of a loop are handed over several at once.
@Suite(.endsHangs) struct PushPauseTests {
    final class Transport: RealtimeTransport {
        let isReady = true
        private(set) var sent: [String] = []
        private var read: [String] = []
        private(set) var flushes = 0

        /// What was handed over since the last call.
        func takeRead() -> [String] {
            defer { read = [] }
            return read
        }

        func send(_ message: [UInt8]) { sent.append("message") }
        func send(_ push: RealtimePush, tag: Int64?) {
            guard case .put(let node) = push.change, case .string(let name)? = node?.leaf else { return }
            sent.append(name)
        }
        func beginParts(units: Int) {}
        func sendPart(_ part: [UInt8]) {}
        func endParts() {}
        func setReading(_ isReading: Bool) {}
        func close() {}
        func abort() {}

        func flush() {
            flushes += 1
            read += sent
            sent = []
        }
    }

    /// Connections that listen to the same value.
    private struct Listeners {
        let database = SlowDatabase()
        let eventLoop = EmbeddedEventLoop()
        let connections: [RealtimeConnection]
        let transports: [Transport]

        init(_ count: Int) {
            let loop = RealtimeLoop(
                eventLoop: eventLoop,
                parts: RealtimeParts(
                    service: InMemoryService(),
                    credentials: RealtimeCredentials(isDevelopment: true) { $1(.failure(.invalidToken)) }, now: { 0 },
                    logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })))
            connections = (0..<count).map { [database] number in
                RealtimeConnection(
                    .init(database: "n", session: "S\(number)"), database, .init(host: "h"), address: 1, loop: loop)
            }
            transports = connections.map { _ in Transport() }
            for (connection, transport) in zip(connections, transports) {
                connection.begin(transport)
                connection.receive(.request(number: 1, .listen(ListenKey(path: .root), nil)), bytes: 100)
            }
            database.notifyListeners(.began(RealtimeListenStart(.unchanged)))
            eventLoop.run()
            eventLoop.advanceTime(by: .seconds(1))
        }

        func push(_ name: String) {
            database.notifyListeners(.push(RealtimePush(RealtimePath.root, .put(RealtimeNode(.string(name))))))
            eventLoop.run()
        }

        /// What each client could read since the last call.
        func read() -> [[String]] { transports.map { $0.takeRead() } }
    }

    @Test func theFirstOfManyPushesIsHandedOverAtOnceAndTheNextOnesTogether() {
        let listeners = Listeners(8)
        _ = listeners.read()
        listeners.push("a")
        #expect(listeners.read() == Array(repeating: ["a"], count: 8))
        listeners.eventLoop.advanceTime(by: .milliseconds(1))
        listeners.push("b")
        listeners.eventLoop.advanceTime(by: .microseconds(500))
        listeners.push("c")
        #expect(listeners.read() == Array(repeating: [], count: 8))
        listeners.eventLoop.advanceTime(by: .milliseconds(2))
        #expect(listeners.read() == Array(repeating: ["b", "c"], count: 8))
        // It was long ago that they had others.
        listeners.eventLoop.advanceTime(by: .milliseconds(3))
        listeners.push("d")
        #expect(listeners.read() == Array(repeating: ["d"], count: 8))
    }

    @Test func eachPushIsHandedOverOnce() {
        let listeners = Listeners(8)
        _ = listeners.read()
        let before = listeners.transports.map(\.flushes)
        for number in 0..<100 {
            listeners.push("\(number)")
            listeners.eventLoop.advanceTime(by: .microseconds(100))
        }
        listeners.eventLoop.advanceTime(by: .seconds(1))
        #expect(listeners.read() == Array(repeating: (0..<100).map { "\($0)" }, count: 8))
        for (transport, before) in zip(listeners.transports, before) {
            // In 10 ms.
            #expect((2...10).contains(transport.flushes - before), "\(transport.flushes - before)")
        }
    }

    @Test func anAnswerIsNeverHeldBack() {
        let listeners = Listeners(9)
        listeners.connections[3].receive(
            .request(number: 2, .write(.set(RealtimeTarget(.root), RealtimeWriteValue(nil), ifHash: nil))), bytes: 100)
        listeners.push("a")
        _ = listeners.read()
        listeners.database.notifyListeners(.push(RealtimePush(RealtimePath.root, .put(RealtimeNode(.string("b"))))))
        listeners.database.answerWrite()
        listeners.eventLoop.run()
        var expected = Array(repeating: [String](), count: 9)
        expected[3] = ["b", "message"]
        #expect(listeners.read() == expected)
        listeners.eventLoop.advanceTime(by: .milliseconds(2))
        expected = Array(repeating: ["b"], count: 9)
        expected[3] = []
        #expect(listeners.read() == expected)
    }

    @Test func fewConnectionsNeverWait() {
        let listeners = Listeners(7)
        _ = listeners.read()
        for number in 0..<10 {
            listeners.push("\(number)")
            #expect(listeners.read() == Array(repeating: ["\(number)"], count: 7))
        }
    }
}
