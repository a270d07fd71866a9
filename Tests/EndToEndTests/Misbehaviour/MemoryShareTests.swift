import TestSupport
import Testing

/// Callers that want all of the host's memory, and others beside them.
@Suite(.endsHangs) struct MemoryShareTests {
    private static let root = "/v1/projects/demo-shop/databases/(default)/documents"
    private static let names = "projects/demo-shop/databases/(default)/documents"

    /// A gauge of memory.
    static func gauge(_ name: String, of host: RunningHost) async throws -> Int {
        let text = try await host.events.send("GET", "/metrics").text
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("functions_\(name) ") })
        return try #require(Int(line.split(separator: " ")[1]))
    }

    @Test func answersThatNobodyReadsLeaveRoomForOthers() async throws {
        try await RunningHost.serving(extra: #""limits": { "allAnswers": "96MiB", "querySeconds": 3600 }"#) { host in
            let nulls = Array(repeating: #"{"nullValue":null}"#, count: 39_000).joined(separator: ",")
            // Within an element, they have no index entries.
            let list = #"{"mapValue":{"fields":{"n":{"arrayValue":{"values":[\#(nulls)]}}}}}"#
            for number in 0..<30 {
                let write =
                    #"{"update":{"name":"\#(Self.names)/products/p\#(number)","#
                    + #""fields":{"a":{"arrayValue":{"values":[\#(list)]}}}}}"#
                let stored = try await host.firestore.send(
                    "POST", "\(Self.root):commit", headers: ["Authorization": "Bearer owner"],
                    #"{"writes":[\#(write)]}"#)
                #expect(stored.status == 200)
            }
            func request(_ count: Int) -> String {
                let documents = (0..<count).map { #""\#(Self.names)/products/p\#($0)""# }
                return #"{"documents":[\#(documents.joined(separator: ","))]}"#
            }
            let attacker = try await SignedInUser.create(host)
            let user = try await SignedInUser.create(host)
            let connection = try await RawConnection.open(port: host.firestore.port, reads: false)
            let body = request(15)
            try await connection.send(
                "POST \(Self.root):batchGet HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(attacker.token)\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            try await Bound.wait("the answer is held") {
                try await Self.gauge("host_answer_bytes", of: host) > 25_000_000
            }

            let second = try await host.firestore.send(
                "POST", "\(Self.root):batchGet", headers: attacker.headers, request(15))
            #expect(second.status == 429)
            #expect(second.json["error"]?["message"]?.text?.contains("wait to be received") == true)
            let most = try await host.firestore.send(
                "POST", "\(Self.root):batchGet", headers: attacker.headers, request(30))
            #expect(most.status == 429)
            let others = try await host.firestore.send(
                "POST", "\(Self.root):batchGet", headers: user.headers, request(6))
            #expect(others.status == 200)
            #expect(others.text.utf8.count > 6 * 39_000 * 18)
            #expect(others.text.ranges(of: #"{"found":"#).count == 6)
            #expect(others.text.hasSuffix("}]"))

            try await connection.close()
            try await Bound.wait("the answer's memory is free") {
                try await Self.gauge("host_answer_bytes", of: host) == 0
            }
            let again = try await host.firestore.send(
                "POST", "\(Self.root):batchGet", headers: attacker.headers, request(6))
            #expect(again.status == 200)
            #expect(try await Self.gauge("host_answer_bytes_peak", of: host) <= 96 << 20)
        }
    }

    @Test func unfinishedBodiesWithoutATokenLeaveRoomForOthers() async throws {
        try await RunningHost.serving(extra: #""limits": { "allBodies": "32MiB" }"#) { host in
            let user = try await SignedInUser.create(host)
            let part = String(repeating: "x", count: 9_000_000)
            func start(_ port: Int, _ path: String) async throws -> RawConnection {
                let connection = try await RawConnection.open(port: port)
                try await connection.send(
                    "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        + "Content-Length: 10000000\r\n\r\n")
                return connection
            }
            let first = try await start(host.firestore.port, "\(Self.root):commit")
            try await first.send(part)
            try await Bound.wait("the body is held") {
                try await Self.gauge("host_body_bytes", of: host) == part.utf8.count
            }
            for (port, path, status) in [
                (host.firestore.port, "\(Self.root):commit", 503),
                (host.functions.port, "/demo-shop/us-central1/nothing", 503),
                (host.events.port, "/projects/demo-shop/events", 503),
                // Its bodies are small: it may say so first.
                (host.auth.port, "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=k", 413),
            ] {
                let other = try await start(port, path)
                try await other.send(part)
                try await other.wait(for: "\r\n\r\n")
                #expect(["HTTP/1.1 \(status) ", "HTTP/1.1 503 "].contains { other.text.hasPrefix($0) })
                try await other.close()
                try await Bound.wait("its body is released") {
                    try await Self.gauge("host_body_bytes", of: host) == part.utf8.count
                }
            }
            // Small requests from the same address have room, and large ones with a token.
            _ = try await SignedInUser.create(host)
            let large = #"{"data":"\#(String(repeating: "x", count: 5_000_000))"}"#
            let call = try await host.functions.send(
                "POST", "/demo-shop/us-central1/nothing",
                headers: user.headers.merging(["Content-Type": "application/json"]) { $1 }, large)
            #expect(call.status == 200)
            try await first.close()
            try await Bound.wait("the bodies' memory is free") {
                try await Self.gauge("host_body_bytes", of: host) == 0
            }
            #expect(try await Self.gauge("host_body_bytes_peak", of: host) <= 32 << 20)
        }
    }
}
