import CommitPipeline
import DocumentModel
import Foundation
import Logging
import RealtimeModel
import RealtimeStore
import StorageEngine
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import RealtimeAPI

/// What `firebase database:profile` reads.
@Suite(.endsHangs) struct ProfileTests {
    private static let rules = #"""
        {"rules": {"open": {".read": true, ".write": true, "scores": {".indexOn": "points"}}}}
        """#

    /// Runs a body with a port on a store in memory.
    private func withPort(
        _ change: (inout RealtimeParts) -> Void = { _ in }, hasRules: Bool = true,
        _ body: (TestPort, StoreRealtimeService) async throws -> Void
    ) async throws {
        let pipeline = try CommitPipeline(engine: MemoryEngine(), now: Timestamp.wallClock)
        let store = try RealtimeStore(on: pipeline)
        try pipeline.start()
        let service = StoreRealtimeService(
            store, names: ["n"], isDevelopment: true,
            spool: Spool(directory: FileManager.default.temporaryDirectory.path), logger: Logger(label: "test"),
            now: { 1_700_000_000_000 })
        try await TestPort.run {
            $0.service = service
            change(&$0)
        } _: { port in
            if hasRules {
                let rules = try await port.client().ask(
                    "PUT", "/.settings/rules.json", ["Authorization: Bearer owner"], body: Self.rules)
                #expect(rules.status == 200)
            }
            try await body(port, service)
        }
        await pipeline.shutdown()
    }

    private func watch(_ port: TestPort) async throws -> PortClient {
        let client = try await port.client()
        try await client.send(
            "GET /.settings/profile.json HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer owner\r\n"
                + "Accept: text/event-stream\r\n\r\n")
        #expect(try await client.text(through: "\r\n\r\n").contains("text/event-stream"))
        return client
    }

    /// The next operation, without its time.
    private func operation(_ watcher: PortClient) async throws -> String {
        _ = try await watcher.text(through: "event: log\ndata: ")
        let text = String(try await watcher.text(through: "\n\n").dropLast(2))
        #expect(text.contains(#","timestamp":1700000000000"#))
        return text.replacing(#","timestamp":1700000000000"#, with: "")
    }

    @Test func eachOperationIsToldWithWhatTheReportNeeds() async throws {
        try await withPort { port, _ in
            let watcher = try await watch(port)
            let rest = try await port.client()
            func expect(_ operations: String...) async throws {
                for expected in operations {
                    let found = try await operation(watcher)
                    #expect(found == expected)
                }
            }
            _ = try await rest.ask("PUT", "/open/a.json", body: "[1, 2]")
            try await expect(#"{"name":"rest-write","path":["open","a"],"millis":0,"bytes":13,"allowed":true}"#)
            _ = try await rest.ask("PATCH", "/open.json", body: #"{"a/1":3,"a/2":4}"#)
            try await expect(#"{"name":"rest-update","path":["open","a"],"millis":0,"bytes":2,"allowed":true}"#)
            _ = try await rest.ask("GET", "/open/a.json")
            try await expect(#"{"name":"rest-read","path":["open","a"],"millis":0,"bytes":7,"allowed":true}"#)
            _ = try await rest.ask("GET", "/closed.json")
            try await expect(#"{"name":"rest-read","path":["closed"],"millis":0,"bytes":0,"allowed":false}"#)

            let session = try await port.client()
            _ = try await session.upgrade()
            _ = try await session.message()
            try await expect(#"{"name":"concurrent-connect"}"#)
            _ = try await session.request(1, "q", #"{"p":"/open/a","h":""}"#)
            try await expect(#"{"name":"listener-listen","path":["open","a"],"millis":0,"bytes":19,"allowed":true}"#)
            _ = try await session.request(2, "p", #"{"p":"/open/a/0","d":"x"}"#)
            try await expect(
                #"{"name":"listener-broadcast","path":["open","a","0"],"millis":0,"bytes":54,"clientsUpdated":1}"#,
                #"{"name":"realtime-write","path":["open","a","0"],"millis":0,"bytes":3,"allowed":true}"#)
            _ = try await session.request(3, "p", #"{"p":"/open/b","d":1,"h":""}"#)
            try await expect(
                #"{"name":"realtime-transaction","path":["open","b"],"millis":0,"bytes":1,"allowed":true}"#)
            _ = try await session.request(4, "m", #"{"p":"/","d":{"open/b":2,"closed":3}}"#)
            try await expect(#"{"name":"realtime-update","path":[],"millis":0,"bytes":2,"allowed":false}"#)
            _ = try await session.request(5, "g", #"{"p":"/open/b","q":{}}"#)
            try await expect(#"{"name":"realtime-read","path":["open","b"],"millis":0,"bytes":1,"allowed":true}"#)
            _ = try await session.request(6, "q", #"{"p":"/open/a","h":"","q":{"i":"x/y","l":1},"t":1}"#)
            try await expect(
                #"{"name":"listener-listen","path":["open","a"],"millis":0,"bytes":7,"allowed":true,"#
                    + #""unIndexed":true,"querySet":[{"index":{"path":["x","y"]}}]}"#)
            _ = try await session.request(7, "q", #"{"p":"/open/scores","h":"","q":{"i":"points","l":1},"t":2}"#)
            try await expect(
                #"{"name":"listener-listen","path":["open","scores"],"millis":0,"bytes":4,"allowed":true}"#)
            _ = try await session.request(8, "q", #"{"p":"/closed","h":""}"#)
            try await expect(#"{"name":"listener-listen","path":["closed"],"millis":0,"bytes":0,"allowed":false}"#)
            _ = try await session.request(9, "n", #"{"p":"/open/scores","q":{"i":"points","l":1},"t":2}"#)
            try await expect(#"{"name":"listener-unlisten","path":["open","scores"]}"#)
            try await session.close()
            try await expect(#"{"name":"concurrent-disconnect"}"#)
        }
    }

    @Test func queriesThatNeedNoIndexAreNotUnindexed() async throws {
        try await withPort(hasRules: false) { port, _ in
            let watcher = try await watch(port)
            let session = try await port.client()
            _ = try await session.upgrade()
            _ = try await session.message()
            _ = try await operation(watcher)
            for (number, order) in [".key", ".priority", ".value"].enumerated() {
                _ = try await session.request(
                    number, "q", "{\"p\":\"/a\",\"h\":\"\",\"q\":{\"i\":\"\(order)\",\"l\":1},\"t\":\(number + 1)}")
                let listen = try await operation(watcher)
                #expect(listen.contains("unIndexed") == (order == ".value"))
            }
        }
    }

    @Test func theStreamEndsWithItsToken() async throws {
        let now = Mutex<Int64>(1_700_000_000_000)
        let read: @Sendable () -> Int64 = { now.withLock { $0 } }
        try await withPort {
            $0.credentials = RealtimeCredentials(isDevelopment: true) { _, completion in
                completion(.success(.init(.admin, until: 1_700_000_010)))
            }
            $0.now = read
        } _: { port, service in
            let watcher = try await port.client()
            try await watcher.send(
                "GET /.settings/profile.json HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer T\r\n"
                    + "Accept: text/event-stream\r\n\r\n")
            let rest = try await port.client()
            while try !service.database("n").profile.isWatched { await Task.yield() }
            _ = try await rest.ask("GET", "/open.json")
            #expect(try await operation(watcher).contains("rest-read"))
            now.withLock { $0 = 1_700_000_010_001 }
            _ = try await rest.ask("GET", "/open.json")
            let end = try await watcher.text(through: "\r\n0\r\n\r\n")
            #expect(end == "\r\n0\r\n\r\n")
            let isWatched = try service.database("n").profile.isWatched
            #expect(!isWatched)
        }
    }

    @Test func onlyAdminsWatchAndAsAStream() async throws {
        try await withPort { port, service in
            let profile = try service.database("n").profile
            let client = try await port.client()
            let stranger = try await client.ask("GET", "/.settings/profile.json", ["Accept: text/event-stream"])
            #expect(stranger.status == 401)
            let plain = try await client.ask("GET", "/.settings/profile.json", ["Authorization: Bearer owner"])
            #expect(plain.status == 400)
            #expect(plain.body.contains("send Accept: text/event-stream."))
            #expect(!profile.isWatched)
            var watchers: [PortClient] = []
            for _ in 0..<DatabaseProfile.maxWatchers { watchers.append(try await watch(port)) }
            let headers = ["Authorization: Bearer owner", "Accept: text/event-stream"]
            #expect(try await client.ask("GET", "/.settings/profile.json", headers).status == 503)
            _ = try await client.ask("GET", "/open.json")
            for watcher in watchers { #expect(try await operation(watcher).contains("rest-read")) }
            for watcher in watchers { try await watcher.close() }
            while profile.isWatched { await Task.yield() }
        }
    }

    /// Others don't wait for a watcher who doesn't read, and what is kept for it is bounded.
    @Test func aWatcherWhoDoesNotReadMissesOperations() async throws {
        try await withPort { port, service in
            let profile = try service.database("n").profile
            let slow = try await port.client(isReading: false)
            try await slow.send(
                "GET /.settings/profile.json HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer owner\r\n"
                    + "Accept: text/event-stream\r\n\r\n")
            while !profile.isWatched { await Task.yield() }
            let path = RealtimePath(unchecked: [RealtimeKey(unchecked: String(repeating: "k", count: 700))])
            let count = 50_000
            for _ in 0..<count { profile.record(ProfiledOperation(.unlisten, at: path), at: 1) }
            try await slow.startReading()
            // The last one that fits is followed by what happens later.
            while true {
                profile.record(ProfiledOperation(.connect), at: 1_700_000_000_000)
                if try await slow.text(through: "\n\n").contains("concurrent-connect") { break }
            }
        }
    }
}
