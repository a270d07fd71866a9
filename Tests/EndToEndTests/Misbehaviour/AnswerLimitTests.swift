import TestSupport
import Testing

/// Answers that are larger than they may be, and clients that don't read theirs.
@Suite(.endsHangs) struct AnswerLimitTests {
    @Test func anAnswerBeyondTheHostsLimitIsTheFunctionsFault() async throws {
        try await RunningHost.serving(extra: #""limits": { "responseBody": "64KiB" }"#) { host in
            #expect(try await host.call("largeAnswer", "65534").status == 200)
            let result = try await host.call("largeAnswer", "65535")
            #expect(result.status == 500)
            #expect(result.text == CrashTests.hidden)
            let bytes = "/demo-shop/us-central1/bytes?count="
            #expect(try await host.functions.send("GET", bytes + "65536").body.count == 65_536)
            #expect(try await host.functions.send("GET", bytes + "65537").status == 500)
            try await Bound.wait("the log names the limit") {
                host.process.errors.split(separator: "\n").count {
                    $0.contains("an answer is larger than it may be") && $0.contains("limits.responseBody=65536")
                } == 2
            }
            // What is streamed has no such bound.
            let streamed = try await host.call("flood", "10", headers: StreamingTests.stream)
            #expect(streamed.body.count > 10 * 65_536)
        }
    }

    @Test func answersThatNobodyReadsHaveABoundTogether() async throws {
        let alone = #""functions": { "bytes": { "concurrency": 1, "maxInstances": 1 } }"#
        try await RunningHost.serving(extra: alone) { host in
            let before = host.process.memory
            var connections: [RawConnection] = []
            for _ in 0..<10 {
                let connection = try await RawConnection.open(port: host.functions.port, reads: false)
                try await connection.send(
                    "GET /demo-shop/us-central1/bytes?count=33554432 HTTP/1.1\r\nHost: localhost\r\n\r\n")
                connections.append(connection)
            }
            try await Bound.wait("one is dropped") {
                host.process.errors.contains("an answer was dropped: too many wait for clients that don't read them")
            }
            // 256 MiB of answers, and one that came last.
            #expect(host.process.memory - before < 400 << 20, "\((host.process.memory - before) >> 20) MiB more")
            try await host.expectEcho()
            for connection in connections { try await connection.close() }
            try await Bound.wait("there is room again") {
                try await host.functions.send("GET", "/demo-shop/us-central1/bytes?count=33554432").body.count
                    == 33_554_432
            }
        }
    }

    @Test func clientsThatDoNotReadTheirStreamsCostNoMemory() async throws {
        try await RunningHost.serving { host in
            _ = try await host.call("flood", "10", headers: StreamingTests.stream)
            let before = host.process.memory
            var connections: [RawConnection] = []
            let body = #"{"data":1000}"#
            for _ in 0..<100 {
                let connection = try await RawConnection.open(port: host.functions.port, reads: false)
                try await connection.send(
                    "POST /demo-shop/us-central1/flood HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        + "Accept: text/event-stream\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                connections.append(connection)
            }
            // All of them send as much as they may, 62 MiB each; a call of the same process is answered after that.
            for _ in 0..<10 { try await host.expectEcho() }
            let one = try await host.call("flood", "100", headers: StreamingTests.stream)
            #expect(one.body.count > 100 * 65_536)
            // While the clients are still there. On a busy machine, what was used for a moment is given back a little later.
            try await Bound.wait("they cost less than 100 MiB") { host.process.memory - before < 100 << 20 }
            for connection in connections { try await connection.close() }
            try await host.expectEcho()
        }
    }
}
