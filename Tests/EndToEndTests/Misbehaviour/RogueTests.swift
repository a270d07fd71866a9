import TestSupport
import Testing

/// Processes that break the rules of the link.
@Suite(.endsHangs) struct RogueTests {
    @Test(arguments: [
        ("closesLink", "it closed its link"), ("writesGarbage", ", the limit"),
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

    @Test func aStreamBeyondWhatItsClientTakesEndsTheProcess() async throws {
        try await RunningHost.serving { host in
            let before = host.process.memory
            let connection = try await RawConnection.open(port: host.functions.port, reads: false)
            let body = #"{"data":"floodsStream"}"#
            try await connection.send(
                "POST /demo-shop/us-central1/rogue HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + "Accept: text/event-stream\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            try await Bound.wait("the log tells why") {
                host.process.errors.contains("it sent more of a stream than its client has taken")
            }
            #expect(host.process.memory - before < 50 << 20)
            try await connection.close()
            try await host.expectEcho()
        }
    }
}
