import TestSupport
import Testing

/// Functions that get HTTP requests as they are.
@Suite(.endsHangs) struct HTTPFunctionTests {
    @Test func aHandlerSeesTheRequestBehindItsName() async throws {
        try await RunningHost.serving { host in
            let answer = try await host.functions.send(
                "PUT", "/demo-shop/us-central1/http/a%20b/c?x=1&y=%C3%A9+z&x=2", headers: ["X-Fixture": "yes"], "body")
            #expect(answer.status == 200)
            #expect(
                answer.json
                    == (try JSON(
                        parsing:
                            #"{"method":"PUT","path":"/a b/c","query":["x=1","y=é z","x=2"],"body":"body","header":"yes"}"#
                    )))
            let bare = try await host.functions.send("GET", "/demo-shop/us-central1/http")
            #expect(bare.json["path"] == .string("/"))
            let query = try await host.functions.send("GET", "/demo-shop/us-central1/http?q=1")
            #expect(query.json["path"] == .string("/"))
            #expect(query.json["query"] == .array([.string("q=1")]))
        }
    }

    @Test func aStatusThatNoAnswerCanHaveIsTheFunctionsFault() async throws {
        try await RunningHost.serving { host in
            for status in ["100", "101", "0", "-1", "600", "70000"] {
                let answer = try await host.functions.send("GET", "/demo-shop/us-central1/http?status=\(status)")
                #expect(answer.status == 500, "\(status)")
                #expect(answer.json["error"]?["message"] == .string("INTERNAL"))
            }
        }
    }

    @Test func aStreamedBodyArrivesWholeAndABrokenOneIsCutOff() async throws {
        try await RunningHost.serving { host in
            let answer = try await host.functions.send("GET", "/demo-shop/us-central1/streamed")
            #expect(answer.text == "line 1\nline 2\nline 3\n")
            #expect(answer["Content-Type"] == "text/plain")
            await #expect(throws: (any Error).self) {
                try await host.functions.send("GET", "/demo-shop/us-central1/brokenStream")
            }
            try await host.expectEcho()
        }
    }

    /// As nginx asks by default. The end of the connection would be that of the body.
    @Test func aBrokenBodyForHTTP10EndsWithAReset() async throws {
        try await RunningHost.serving { host in
            for (function, isBroken) in [("brokenStream", true), ("streamed", false)] {
                let connection = try await RawConnection.open(port: host.functions.port)
                try await connection.send("GET /demo-shop/us-central1/\(function) HTTP/1.0\r\n\r\n")
                try await connection.waitForEnd()
                #expect(connection.wasReset == isBroken, "\(function)")
            }
        }
    }
}
