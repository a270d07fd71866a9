import Logging
import NIOCore
import NIOEmbedded
import RealtimeModel
import Sharing

@testable import RealtimeAPI

/// Connections that listen to the same path of a database, on a loop that runs when a test says so.
struct TestConnections {
    /// Notes the pushes by their strings, and other messages as "message".
    final class Transport: RealtimeTransport {
        var isReady = true
        private(set) var sent: [String] = []
        private var read: [String] = []
        private(set) var flushes = 0
        private(set) var isAborted = false

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
        func abort() { isAborted = true }

        func flush() {
            flushes += 1
            read += sent
            sent = []
        }
    }

    let database = SlowDatabase()
    let eventLoop = EmbeddedEventLoop()
    let connections: [RealtimeConnection]
    let transports: [Transport]
    private let path: RealtimePath

    init(
        _ count: Int = 1, listeningTo path: RealtimePath = .root,
        limits: RealtimeConnectionLimits = RealtimeConnectionLimits(), answers: MemoryBudget? = nil
    ) {
        var parts = RealtimeParts(
            service: InMemoryService(),
            credentials: RealtimeCredentials(isDevelopment: true) { $1(.failure(.invalidToken)) }, now: { 0 },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        parts.limits = limits
        parts.answers = answers
        let loop = RealtimeLoop(eventLoop: eventLoop, parts: parts)
        connections = (0..<count).map { [database] number in
            RealtimeConnection(
                .init(database: "n", session: "S\(number)"), database, .init(host: "h"), address: 1, loop: loop)
        }
        transports = connections.map { _ in Transport() }
        self.path = path
        for (connection, transport) in zip(connections, transports) {
            connection.begin(transport)
            connection.receive(.request(number: 1, .listen(ListenKey(path: path), nil)), bytes: 100)
        }
        database.notifyListeners(.began(RealtimeListenStart(.unchanged)))
        eventLoop.run()
        eventLoop.advanceTime(by: .seconds(1))
        _ = read()
    }

    /// Pushes to all.
    ///
    /// - Parameter place: nil for the path that they listen to.
    func push(_ name: String, at place: RealtimePath? = nil, version: Int64 = 0) {
        let target = RealtimeTarget(place ?? path)
        database.notifyListeners(.push(RealtimePush(target, .put(RealtimeNode(.string(name))), version: version)))
        eventLoop.run()
    }

    /// What each client could read since the last call.
    func read() -> [[String]] { transports.map { $0.takeRead() } }
}
