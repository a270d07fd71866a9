import Logging
import NIOCore
import NIOPosix
@testable import RealtimeAPI
import RealtimeModel
import StrictJSON

/// A port on databases in memory, for one test.
final class TestPort: Sendable {
    let service: InMemoryService
    private let port: RealtimePort

    var number: Int { port.port }

    /// - Parameter change: changes what the port is made of.
    private init(_ rules: InMemoryRules, _ change: (inout RealtimeParts) -> Void) async throws {
        service = InMemoryService(rules: rules)
        // A token is the user's name, and the seconds until it ends.
        let credentials = RealtimeCredentials(isDevelopment: true) { token, completion in
            let words = token.split(separator: ".")
            guard words.count == 2, let seconds = Int64(words[1]) else { return completion(.failure(.invalidToken)) }
            let auth = RealtimeAuth(uid: String(words[0]), claims: ["exp": .integer(seconds)])
            completion(.success(.init(.client(auth), until: 1_700_000_000 + seconds)))
        }
        var parts = RealtimeParts(
            service: service, credentials: credentials, databaseNames: DatabaseNames(fallback: "n"),
            now: { 1_700_000_000_000 },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        // A machine that stands still for a minute ends nothing. `idle` is a number that tests tell.
        parts.port.transfer = .hours(24)
        parts.port.idle = .hours(75)
        parts.port.hold = .hours(24)
        parts.port.pollSilence = .hours(24)
        parts.port.keepAlive = .hours(24)
        parts.port.closing = .hours(24)
        parts.limits.pingSeconds = 50 * 3600
        parts.limits.silenceSeconds = 90 * 3600
        change(&parts)
        port = try await RealtimePort.start(
            parts, group: MultiThreadedEventLoopGroup.singleton, host: "127.0.0.1", port: 0, grace: .milliseconds(100))
    }

    /// An app's token is the seconds until it ends.
    static let verifyApp: RealtimeCredentials.AppVerification = { token, completion in
        let seconds = token.flatMap { Int64($0) }
        completion(seconds.map { .admitted(until: 1_700_000_000 + $0) } ?? .refused)
    }

    /// Runs a body with a port, and stops the port.
    static func run(
        rules: InMemoryRules = .open, _ change: (inout RealtimeParts) -> Void = { _ in },
        _ body: (TestPort) async throws -> Void
    ) async throws {
        let port = try await TestPort(rules, change)
        do {
            try await body(port)
        } catch {
            try await port.port.stop()
            throw error
        }
        try await port.port.stop()
    }

    /// Looks at all connections, as happens every few seconds.
    ///
    /// - Parameter time: how much later than now it seems to be.
    func sweep(after time: TimeAmount) async throws {
        for loop in port.loops {
            try await loop.eventLoop.submit { loop.sweep(now: .now() + time) }.get()
        }
    }

    /// A server's key was revoked.
    func checkTokens() { port.checkTokens() }

    func metricsText() async -> String { await port.metricsText() }

    /// The sessions that haven't ended.
    var sessionCount: Int { port.loops.first?.parts.sessions.all.count ?? 0 }

    /// Stops the port, and returns the number of sessions that are still there.
    func stop() async throws -> Int {
        try await port.stop()
        return sessionCount
    }

    func client(isReading: Bool = true) async throws -> PortClient {
        try await PortClient(port: number, isReading: isReading)
    }

    /// A client with an open WebSocket, after the handshake.
    func socket(_ query: String = "v=5&ns=n") async throws -> (client: PortClient, session: String) {
        let client = try await client()
        _ = try await client.upgrade(query)
        let hello = try JSONValue(parsing: Array(try await client.message().utf8))
        return (client, hello["d"]?["d"]?["s"]?.stringValue ?? "")
    }
}
