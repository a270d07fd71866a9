import TestSupport
import Testing

/// Callables that answer in parts.
@Suite(.endsHangs) struct StreamingTests {
    static let stream = ["Accept": "text/event-stream", "Content-Type": "application/json"]

    private func open(_ host: RunningHost, _ name: String, _ data: String) async throws -> OpenAnswer {
        try await host.functions.open(
            "POST", "/demo-shop/us-central1/\(name)", headers: Self.stream, bytes: Array(#"{"data":\#(data)}"#.utf8))
    }

    @Test func chunksComeBeforeTheResultOrTheError() async throws {
        try await RunningHost.serving { host in
            let answer = try await host.call("countdown", "3", headers: Self.stream)
            #expect(answer.status == 200)
            #expect(answer["Content-Type"] == "text/event-stream")
            #expect(
                answer.text == """
                    data: {"message":3}

                    data: {"message":2}

                    data: {"message":1}

                    data: {"result":"liftoff"}


                    """)
            let broken = try await host.call("breaks", "null", headers: Self.stream)
            #expect(broken.status == 200)
            #expect(
                broken.events == [
                    try JSON(parsing: #"{"message":1}"#),
                    try JSON(
                        parsing: #"{"error":{"message":"It broke.","status":"DATA_LOSS","details":{"after":1}}}"#),
                ])
        }
    }

    @Test func hangingUpCancelsTheHandler() async throws {
        try await RunningHost.serving { host in
            var answer = try await open(host, "waits", "null")
            _ = try await answer.read(until: "waiting")
            #expect(!host.process.errors.contains("was cancelled"))
            try await answer.close()
            try await Bound.wait("the handler is cancelled") { host.process.errors.contains("was cancelled") }
        }
    }

    @Test func aLargeStreamArrivesWhole() async throws {
        try await RunningHost.serving { host in
            var answer = try await open(host, "flood", "400")
            var count = 0
            while let piece = try await answer.next() { count += piece.count }
            let event = #"data: {"message":""}"#.utf8.count + 2 + 65_536
            #expect(count == 400 * event + #"data: {"result":400}"#.utf8.count + 2)
        }
    }
}
