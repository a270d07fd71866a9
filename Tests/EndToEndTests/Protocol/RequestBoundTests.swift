import TestSupport
import Testing

/// Requests that are too large, too slow or not whole.
@Suite(.endsHangs) struct RequestBoundTests {
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

    @Test func halfSentRequestsDisturbNobody() async throws {
        try await RunningHost.serving { host in
            let halves = [
                "POST /demo-shop/asia-northeast1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Le",
                "POST /demo-shop/asia-northeast1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
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
}
