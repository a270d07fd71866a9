import Testing

/// Requests that are too large, too slow or not whole.
@Suite(.timeLimit(.minutes(30))) struct RequestBoundTests {
    private static let limit = 10 * 1024 * 1024

    private func body(of size: Int) -> String {
        #"{"data":""# + String(repeating: "x", count: size - #"{"data":""}"#.utf8.count) + #""}"#
    }

    @Test func aBodyOfTheLimitIsTakenAndALargerOneRefused() async throws {
        try await RunningHost.serving { host in
            let json = ["Content-Type": "application/json"]
            let path = "/demo-shop/us-central1/nothing"
            let largest = try await host.functions.send("POST", path, headers: json, body(of: Self.limit))
            #expect(largest.status == 200)
            let larger = try await host.functions.send("POST", path, headers: json, body(of: Self.limit + 1))
            #expect(larger.status == 413)
            #expect(larger.json["error"]?["status"] == .string("INVALID_ARGUMENT"))
            #expect(larger.json["error"]?["message"]?.text?.contains("10485760") == true)
        }
    }

    @Test func aBodyWithoutALengthIsBoundedToo() async throws {
        try await RunningHost.serving { host in
            let connection = try await RawConnection.open(port: host.functions.port)
            try await connection.send(
                "POST /demo-shop/us-central1/nothing HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n")
            let chunk = "100000\r\n" + String(repeating: "x", count: 0x100000) + "\r\n"
            for _ in 0..<11 { try await connection.send(chunk) }
            try await connection.wait(for: "413")
            try await connection.send("0\r\n\r\n")
            try await connection.waitForEnd()
            try await host.expectEcho()
        }
    }

    /// Each body counts among those that the host holds, until it is done with it.
    @Test func bodiesOfCallersThatHangUpAreForgotten() async throws {
        try await RunningHost.serving { host in
            let body = Array(body(of: Self.limit).utf8)
            for _ in 0..<60 {
                let answer = try await host.functions.open(
                    "POST", "/demo-shop/us-central1/waits", headers: StreamingTests.stream, bytes: body)
                #expect(answer.status == 200)
                try await answer.close()
            }
            let answer = try await host.functions.send(
                "POST", "/demo-shop/us-central1/nothing", headers: ["Content-Type": "application/json"], bytes: body)
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test func halfSentRequestsDisturbNobody() async throws {
        try await RunningHost.serving { host in
            let halves = [
                "POST /demo-shop/asia-northeast1/echo HTTP/1.1\r\nHost: h\r\nContent-Le",
                "POST /demo-shop/asia-northeast1/echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                    + "Content-Length: 100\r\n\r\n{\"data\":",
                "GET", "", "\r\n\r\n",
            ]
            var connections: [RawConnection] = []
            for half in halves + halves {
                let connection = try await RawConnection.open(port: host.functions.port)
                try await connection.send(half)
                connections.append(connection)
            }
            try await host.expectEcho("while they wait")
            for connection in connections { try await connection.close() }
            try await host.expectEcho("after they left")
        }
    }

    @Test func whatIsNoHTTPIsRefusedAndTheConnectionClosed() async throws {
        try await RunningHost.serving { host in
            for text in [
                "NONSENSE\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                "POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
                "GET / HTTP/1.1\r\nBad Header: x\r\n\r\n",
            ] {
                let connection = try await RawConnection.open(port: host.functions.port)
                try await connection.send(text)
                try await connection.waitForEnd()
                #expect(connection.text.isEmpty || connection.text.hasPrefix("HTTP/1.1 400"), "\(text)")
            }
            try await host.expectEcho()
        }
    }

    @Test func requestsSentAheadAreAnsweredInTheirOrder() async throws {
        try await RunningHost.serving { host in
            let connection = try await RawConnection.open(port: host.functions.port)
            var requests = ""
            for number in 1...5 {
                let body = #"{"data":"n\#(number)"}"#
                requests +=
                    "POST /demo-shop/asia-northeast1/echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            }
            try await connection.send(requests)
            try await connection.wait(for: "n5")
            let results = connection.text.split(separator: "\r\n").filter { $0.hasPrefix("{") }.map { $0.prefix(15) }
            #expect(results == (1...5).map { "{\"result\":\"n\($0)\"}".prefix(15) })
            try await connection.close()
        }
    }
}
