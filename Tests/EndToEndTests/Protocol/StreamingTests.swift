import Testing

/// Callables that answer in parts.
@Suite(.timeLimit(.minutes(30))) struct StreamingTests {
    static let stream = ["Accept": "text/event-stream", "Content-Type": "application/json"]

    private func open(_ host: RunningHost, _ name: String, _ data: String) async throws -> OpenAnswer {
        try await host.functions.open(
            "POST", "/demo-shop/us-central1/\(name)", headers: Self.stream, bytes: Array(#"{"data":\#(data)}"#.utf8))
    }

    @Test func chunksComeBeforeTheResult() async throws {
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
        }
    }

    @Test func whoDoesNotStreamGetsTheResultAlone() async throws {
        try await RunningHost.serving { host in
            for accept in ["*/*", "text/event-stream, */*", "TEXT/event-stream"] {
                let answer = try await host.call("countdown", "3", headers: ["Accept": accept])
                #expect(answer.text == #"{"result":"liftoff"}"#)
            }
        }
    }

    @Test func anErrorIsTheLastEventOfAStream() async throws {
        try await RunningHost.serving { host in
            let answer = try await host.call("breaks", "null", headers: Self.stream)
            #expect(answer.status == 200)
            #expect(
                answer.events == [
                    try JSON(parsing: #"{"message":1}"#),
                    try JSON(
                        parsing: #"{"error":{"message":"It broke.","status":"DATA_LOSS","details":{"after":1}}}"#),
                ])
            let crash = try await host.call("trap", "7", headers: Self.stream)
            #expect(crash.events == [try JSON(parsing: #"{"error":{"message":"INTERNAL","status":"INTERNAL"}}"#)])
            let late = try await host.call("hangs", "null", headers: Self.stream)
            #expect(late.status == 200)
            #expect(late.events.first?["error"]?["status"] == .string("DEADLINE_EXCEEDED"))
        }
    }

    @Test func aRefusedRequestIsAnEventToo() async throws {
        try await RunningHost.serving { host in
            let answer = try await host.functions.send(
                "POST", "/demo-shop/us-central1/countdown", headers: Self.stream, #"{"dat":1}"#)
            #expect(answer.status == 200)
            #expect(answer.text == "data: \(CallableProtocolTests.badRequest)\n\n")
        }
    }

    /// A comment line would be the usual sign of life; it ends the stream on iOS and is an error on Android.
    @Test func aSilentStreamOpensItsNextEventEarly() async throws {
        try await RunningHost.serving { host in
            var answer = try await open(host, "quietStream", "2500")
            let first = try await answer.next() ?? []
            #expect(String(decoding: first, as: UTF8.self) == "data: ")
            let whole = try await answer.whole().text
            #expect(!whole.contains(": ping"))
            let spaces = whole.prefix { $0 == " " }.count
            #expect(spaces >= 1)
            #expect(whole.dropFirst(spaces) == "{\"message\":1}\n\ndata: {\"result\":\"done\"}\n\n")
        }
    }

    @Test func hangingUpCancelsTheHandler() async throws {
        try await RunningHost.serving { host in
            var answer = try await open(host, "waits", "null")
            _ = try await answer.read(until: "waiting")
            #expect(!host.process.errors.contains("was told to stop"))
            try await answer.close()
            try await Bound.wait("the handler is told") { host.process.errors.contains("was told to stop") }
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
