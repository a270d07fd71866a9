import Testing

/// Processes that break the rules of the link.
@Suite(.timeLimit(.minutes(30))) struct RogueTests {
    @Test(arguments: [
        ("closesLink", "it closed its link"), ("writesGarbage", ", the limit"),
        ("isReadyTwice", "it was ready twice"),
        ("invokesTheHost", "a frame invoke comes from the host only"),
        ("logsTooMuch", "a log frame has "),
        ("givesBackWhatItRuns", "it gave back an invocation that it wasn't asked for"),
    ])
    func whoBreaksTheProtocolIsEnded(mode: String, reason: String) async throws {
        try await RunningHost.serving { host in
            let answer = try await host.call("rogue", "\"\(mode)\"")
            #expect(answer.status == 500)
            #expect(answer.text == CrashTests.hidden)
            try await host.expectEcho()
            try await Bound.wait("the log tells why") {
                host.process.errors.contains("worker.end=protocol violation, ")
                    && host.process.errors.contains(reason)
            }
            try await Bound.wait("only the worker of echo is left") { host.directory.workers.count == 1 }
            #expect(try await host.call("rogue", "\"fine\"").text == #"{"result":"fine"}"#)
        }
    }

    @Test func theFirstOfTwoAnswersCounts() async throws {
        try await RunningHost.serving { host in
            for _ in 0..<3 { #expect(try await host.call("rogue", #""answersTwice""#).text == #"{"result":1}"#) }
            #expect(try await host.call("rogue", #""fine""#).text == #"{"result":"fine"}"#)
            try await host.expectEcho()
        }
    }

    @Test func aStreamBeyondWhatItsClientTakesEndsTheProcess() async throws {
        try await RunningHost.serving { host in
            let before = host.process.memory
            let connection = try await RawConnection.open(port: host.functions.port, reads: false)
            let body = #"{"data":"floodsStream"}"#
            try await connection.send(
                "POST /demo-shop/us-central1/rogue HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                    + "Accept: text/event-stream\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            try await Bound.wait("the log tells why") {
                host.process.errors.contains("it sent more of a stream than its client has taken")
            }
            #expect(host.process.memory - before < 50 << 20)
            try await connection.close()
            try await host.expectEcho()
        }
    }

    @Test func aLoggedLineIsCutByTheHost() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.call("rogue", #""logsALongLine""#).text == #"{"result":1}"#)
            try await Bound.wait("it is logged") { host.process.errors.contains("xxxx…=xxxx") }
            let longest = host.process.errors.split(separator: "\n").map(\.utf8.count).max() ?? 0
            #expect(longest > 48 << 10 && longest < 50 << 10)
        }
    }

    @Test func loggedLinesAreBoundedByTheHost() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.call("rogue", #""floodsLog""#).text == #"{"result":1}"#)
            try await Bound.wait("the host tells what it dropped") {
                host.process.errors.contains("output was dropped")
            }
            let lines = host.process.errors.split(separator: "\n").count { $0.contains("a line of a flood") }
            // Of so many seconds as the flood took on this machine, and never all of it.
            #expect(lines >= 1000 && lines < 25_000)
            try await host.expectEcho()
        }
    }
}
