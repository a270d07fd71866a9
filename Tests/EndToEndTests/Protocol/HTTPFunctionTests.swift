import Testing

/// Functions that get HTTP requests as they are.
@Suite(.timeLimit(.minutes(30))) struct HTTPFunctionTests {
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

    @Test(arguments: [200, 201, 404, 418, 500, 599])
    func theHandlersStatusIsTheAnswers(status: Int) async throws {
        try await RunningHost.serving { host in
            let answer = try await host.functions.send("GET", "/demo-shop/us-central1/http?status=\(status)")
            #expect(answer.status == status)
            #expect(answer.json["method"] == .string("GET"))
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

    @Test(arguments: [204, 304])
    func anAnswerThatMayHaveNoBodyHasNone(status: Int) async throws {
        try await RunningHost.serving { host in
            let connection = try await RawConnection.open(port: host.functions.port)
            try await connection.send("GET /demo-shop/us-central1/http?status=\(status) HTTP/1.1\r\nHost: h\r\n\r\n")
            try await connection.wait(for: "\r\n\r\n")
            try await connection.send("GET /demo-shop/us-central1/http?second HTTP/1.1\r\nHost: h\r\n\r\n")
            try await connection.wait(for: "second")
            let parts = connection.text.split(separator: "\r\n\r\n", maxSplits: 1)
            #expect(parts[0].hasPrefix("HTTP/1.1 \(status)"))
            #expect(parts[1].hasPrefix("HTTP/1.1 200"))
            try await connection.close()
        }
    }

    @Test func headHasTheHeadOfGet() async throws {
        try await RunningHost.serving { host in
            let get = try await host.functions.send("GET", "/demo-shop/us-central1/bytes?count=1000")
            let connection = try await RawConnection.open(port: host.functions.port)
            try await connection.send("HEAD /demo-shop/us-central1/bytes?count=1000 HTTP/1.1\r\nHost: h\r\n\r\n")
            try await connection.wait(for: "\r\n\r\n")
            try await connection.send("GET /demo-shop/us-central1/http?second HTTP/1.1\r\nHost: h\r\n\r\n")
            try await connection.wait(for: "second")
            let parts = connection.text.split(separator: "\r\n\r\n", maxSplits: 1)
            #expect(get.body.count == 1000)
            #expect(parts[0].lowercased().contains("content-length: 1000"))
            #expect(parts[1].hasPrefix("HTTP/1.1 200"))
            try await connection.close()
        }
    }

    @Test func functionsAnswerByNameAtADomainOfTheirOwn() async throws {
        try await RunningHost.serving { host in
            let answer = try await host.functions.send("GET", "/http/rest?x=1")
            #expect(answer.status == 200)
            #expect(answer.text.contains("\"path\":\"/rest\""))
            let elsewhere = try await host.functions.send("GET", "/demo-shop/europe-west1/http")
            #expect(elsewhere.status == 404)
        }
    }

    @Test func headOfAStreamEndsWithItsHead() async throws {
        try await RunningHost.serving { host in
            let connection = try await RawConnection.open(port: host.functions.port)
            try await connection.send("HEAD /demo-shop/us-central1/streamed HTTP/1.1\r\nHost: h\r\n\r\n")
            try await connection.wait(for: "\r\n\r\n")
            try await connection.send("GET /demo-shop/us-central1/http?second HTTP/1.1\r\nHost: h\r\n\r\n")
            try await connection.wait(for: "second")
            let parts = connection.text.split(separator: "\r\n\r\n", maxSplits: 1)
            #expect(parts[0].hasPrefix("HTTP/1.1 200"))
            #expect(parts[0].lowercased().contains("transfer-encoding: chunked"))
            #expect(parts[1].hasPrefix("HTTP/1.1 200"))
            try await connection.close()
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

    @Test func aHeaderCannotForgeAnother() async throws {
        try await RunningHost.serving { host in
            let connection = try await RawConnection.open(port: host.functions.port)
            try await connection.send(
                "GET /demo-shop/us-central1/redirect HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            try await connection.waitForEnd()
            #expect(connection.text.hasPrefix("HTTP/1.1 302"))
            #expect(connection.text.contains("\r\nLocation: https://shop.example/\r\n"))
            #expect(!connection.text.contains("\r\nX-Forged"))
        }
    }
}
