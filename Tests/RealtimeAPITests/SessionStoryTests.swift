import HostTesting
import Logging
@testable import RealtimeAPI
import RealtimeModel
import TestSupport
import Testing

/// What the log tells of a session, and the port's metrics.
@Suite(.endsHangs) struct SessionStoryTests {
    /// The lines without times, each without the database's name.
    private func lines(_ log: LogLines) -> [String] {
        log.all.map { line in
            line.replacing(#/ duration\.ms=\d+/#, with: "").replacing(" database.name=n", with: "")
        }
    }

    @Test func aSessionIsToldFromItsBeginningToItsEnd() async throws {
        let log = LogLines()
        var logger = log.logger
        logger.logLevel = .debug
        let rules = InMemoryRules(
            mayRead: { _, _, _ in true }, mayWrite: { _, target, _, _ in target.string != "closed" },
            isIndexed: { _, _ in true })
        try await TestPort.run(rules: rules) { [logger] in
            $0.logger = logger
        } _: { port in
            let (client, id) = try await port.socket("v=5&ns=n&ls=formerSession")
            _ = try await client.request(1, "auth", #"{"cred":"ada.9000"}"#)
            _ = try await client.request(2, "p", #"{"p":"/a/b","d":"secret"}"#)
            _ = try await client.request(3, "p", #"{"p":"/closed","d":1}"#)
            _ = try await client.request(4, "q", #"{"p":"/a","h":""}"#)
            _ = try await client.request(5, "n", #"{"p":"/a"}"#)
            _ = try await client.request(6, "q", #"{"p":"/a/b","h":""}"#)
            _ = try await client.request(7, "o", #"{"p":"/gone","d":1}"#)
            try await client.close()
            while port.sessionCount > 0 { try await Task.sleep(for: .milliseconds(1)) }
            let session = " database.session=\(id.prefix(8))"
            #expect(
                lines(log).map { $0.replacing(session, with: "") } == [
                    "a client has connected database.former=formerSe",
                    "end the former session: ok",
                    "sign in: the user ada",
                    "set /a/b: ok",
                    "set /closed: permission_denied, Permission denied",
                    "listen to /a: ok, 14 bytes",
                    "listen to /a: ended by the client",
                    "listen to /a/b: ok, 8 bytes",
                    "on disconnect set /gone: ok",
                    "the session ends: the client has left database.listens=1 database.unanswered=0",
                    "what the client had registered for its end is done",
                ])
            #expect(log.all.allSatisfy { $0.contains(session) && !$0.contains(id) })
        }
    }

    @Test func nothingIsToldAboveDebug() async throws {
        let log = LogLines()
        try await TestPort.run {
            $0.logger = log.logger
        } _: { port in
            _ = try await port.socket().client.request(1, "p", #"{"p":"/a/b","d":1}"#)
            #expect(log.all == [])
        }
    }

    @Test func metricsCountWhatIsOpenAndSent() async throws {
        try await TestPort.run { port in
            let (client, _) = try await port.socket()
            let stream = try await port.client()
            try await stream.send("GET /a.json HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n")
            _ = try await stream.text(through: "\n\n")
            _ = try await client.request(1, "q", #"{"p":"/a","h":""}"#)
            var text = await port.metricsText()
            #expect(text.contains("\nfunctions_database_client_connections{wire=\"websocket\"} 1\n"))
            #expect(text.contains("\nfunctions_database_client_connections{wire=\"http\"} 1\n"))
            #expect(text.contains("\nfunctions_database_listens 2\n"))
            #expect(text.contains("\nfunctions_database_pushes_total 0\n"))
            _ = try await client.request(2, "p", #"{"p":"/a","d":1}"#)
            _ = try await stream.text(through: "\n\n")
            text = await port.metricsText()
            #expect(text.contains("\nfunctions_database_pushes_total 2\n"))
            #expect(!text.contains("\nfunctions_database_push_bytes_total 0\n"))
            _ = try await client.request(3, "n", #"{"p":"/a"}"#)
            #expect(await port.metricsText().contains("\nfunctions_database_listens 1\n"))
            try await stream.close()
            while await !port.metricsText().contains("\nfunctions_database_listens 0\n") { await Task.yield() }
        }
    }
}
