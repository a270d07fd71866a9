import Foundation
import TestSupport
import Testing

/// The section `clients` of functions.json reaches what it bounds.
@Suite(.endsHangs) struct ClientLimitTests {
    private static let channel = "/google.firestore.v1.Firestore/Listen/channel?VER=8&CVER=22&RID=1"

    /// Opens a session of the web SDK, whose client adds so many targets.
    private func open(_ host: RunningHost, targets: Int = 0) async throws -> HTTPAnswer {
        let root = "projects/demo-shop/databases/(default)/documents"
        var form = "count=\(targets)&ofs=0"
        for id in 1..<(targets + 1) {
            let query = #"{"structuredQuery":{"from":[{"collectionId":"c\#(id)"}]},"parent":"\#(root)"}"#
            form += #"&req\#(id - 1)___data__={"addTarget":{"targetId":\#(id),"query":\#(query)}}"#
        }
        return try await host.firestore.send(
            "POST", Self.channel, headers: ["Content-Type": "application/x-www-form-urlencoded"], form)
    }

    private func id(_ opened: HTTPAnswer) throws -> String {
        let parts = opened.text.split(separator: "\"")
        try #require(parts.count > 3 && parts[1] == "c", "\(opened.text)")
        return String(parts[3])
    }

    /// What a session sends from its beginning until it holds the wanted text.
    private func received(_ host: RunningHost, _ session: String, until wanted: String) async throws -> String {
        let path = Self.channel.replacingOccurrences(
            of: "RID=1", with: "RID=rpc&TYPE=xmlhttp&CI=1&AID=0&SID=\(session)")
        var text = ""
        try await Bound.wait("the session sends \(wanted)") {
            text = try await host.firestore.send("GET", path).text
            return text.contains(wanted)
        }
        return text
    }

    private func serving(_ clients: String, _ body: (RunningHost) async throws -> Void) async throws {
        try await RunningHost.serving([], extra: #""clients": \#(clients)"#, body)
    }

    @Test func aStreamHasSoManyTargets() async throws {
        try await serving(#"{ "listen": { "targetsPerStream": 2 } }"#) { host in
            let session = try id(try await open(host, targets: 3))
            let text = try await received(host, session, until: "a stream may have 2 targets, the limit; remove one")
            // The third alone is removed, and the others go on.
            #expect(text.contains(#""code":8"#))
            #expect(text.components(separatedBy: #""REMOVE""#).count == 2, "\(text)")
        }
    }

    @Test func aClientHasSoManyListeners() async throws {
        try await serving(#"{ "listen": { "listenersPerClient": 2 } }"#) { host in
            let session = try id(try await open(host, targets: 3))
            _ = try await received(
                host, session, until: "a client may have 2 listeners at the moment, the limit; end one")
        }
    }

    @Test func thereAreSoManySessions() async throws {
        try await serving(#"{ "webChannel": { "sessions": 2, "keepAliveSeconds": 7 } }"#) { host in
            let first = try await open(host)
            // The client learns when it can expect something.
            #expect(first.text.contains(",7000]"), "\(first.text)")
            let second = try await open(host)
            #expect(second.status == 200)
            let third = try await open(host)
            #expect(third.status == 429)
            let end = Self.channel + "&TYPE=terminate&SID=\(try id(first))"
            #expect(try await host.firestore.send("POST", end).status == 200)
            let fourth = try await open(host)
            #expect(fourth.status == 200)
        }
    }

    @Test func aClientHasSoManySessions() async throws {
        try await serving(#"{ "webChannel": { "sessionsPerClient": 1 } }"#) { host in
            let (first, second) = (try await open(host), try await open(host))
            #expect(first.status == 200)
            #expect(second.status == 429)
        }
    }

    @Test func whatIsOpenIsMeasured() async throws {
        try await serving("{}") { host in
            func metric(_ name: String) async throws -> String? {
                let lines = try await host.events.send("GET", "/metrics").text.split(separator: "\n")
                return lines.first { $0.hasPrefix("functions_client_\(name) ") }?.split(separator: " ").last.map(
                    String.init)
            }
            let session = try id(try await open(host, targets: 3))
            let connection = try await RawConnection.open(port: host.firestore.port)
            try await connection.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0")
            for (name, value) in [
                ("webchannel_sessions", "1"), ("listeners", "3"), (#"connections{wire="grpc"}"#, "1"),
                (#"connections{wire="http"}"#, "0"), ("grpc_listens", "0"),
            ] {
                try await Bound.wait("\(name) is \(value)") { try await metric(name) == value }
            }
            try await connection.close()
            let end = Self.channel + "&TYPE=terminate&SID=\(session)"
            #expect(try await host.firestore.send("POST", end).status == 200)
            for name in ["webchannel_sessions", "listeners", #"connections{wire="grpc"}"#] {
                try await Bound.wait("\(name) is 0") { try await metric(name) == "0" }
            }
        }
    }

    @Test func aConnectionWithoutCallsEnds() async throws {
        try await serving(#"{ "grpc": { "idleSeconds": 1 } }"#) { host in
            let connection = try await RawConnection.open(port: host.firestore.port)
            try await connection.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0")
            // GOAWAY, which has the type 7.
            try await connection.wait(for: "\0\0\u{8}\u{7}\0")
            try await connection.waitForEnd()
        }
    }

    /// The host announces them in its SETTINGS (RFC 9113, section 6.5.2).
    @Test func aConnectionHasSoManyCalls() async throws {
        try await serving(#"{ "grpc": { "callsPerConnection": 7, "window": "64KiB" } }"#) { host in
            let connection = try await RawConnection.open(port: host.firestore.port)
            try await connection.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0")
            try await connection.wait(for: "\0\u{3}\0\0\0\u{7}")
            #expect(connection.text.contains("\0\u{4}\0\u{1}\0\0"))
            try await connection.close()
        }
    }
}
