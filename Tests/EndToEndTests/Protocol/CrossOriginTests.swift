import Testing

/// What lets pages of other origins read a function's answers, and what doesn't.
@Suite(.timeLimit(.minutes(30))) struct CrossOriginTests {
    private func preflight(
        _ host: RunningHost, _ path: String, origin: String = "https://page.example"
    ) async throws -> HTTPAnswer {
        try await host.functions.send(
            "OPTIONS", "/demo-shop/" + path,
            headers: [
                "Origin": origin, "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,content-type",
            ])
    }

    @Test func aCallableReflectsEveryOriginByDefault() async throws {
        try await RunningHost.serving { host in
            let preflight = try await preflight(host, "asia-northeast1/echo")
            #expect(preflight.status == 204)
            #expect(preflight.body.isEmpty)
            #expect(preflight["Access-Control-Allow-Origin"] == "https://page.example")
            #expect(preflight["Access-Control-Allow-Methods"] == "POST")
            #expect(preflight["Access-Control-Allow-Headers"] == "authorization,content-type")
            #expect(preflight["Vary"]?.contains("Origin") == true)
            let call = try await host.call(
                "echo", "1", region: "asia-northeast1", headers: ["Origin": "https://page.example"])
            #expect(call["Access-Control-Allow-Origin"] == "https://page.example")
            #expect(call["Vary"]?.contains("Origin") == true)
        }
    }

    @Test func errorsCanBeReadByThePageToo() async throws {
        try await RunningHost.serving { host in
            let answer = try await host.call(
                "refuse", #"{"code":"NOT_FOUND","message":"x"}"#, headers: ["Origin": "https://page.example"])
            #expect(answer.status == 404)
            #expect(answer["Access-Control-Allow-Origin"] == "https://page.example")
        }
    }

    @Test func crossOriginCanBeOff() async throws {
        try await RunningHost.serving { host in
            let preflight = try await preflight(host, "us-central1/noCORS")
            #expect(preflight["Access-Control-Allow-Origin"] == nil)
            let call = try await host.call("noCORS", "null", headers: ["Origin": "https://page.example"])
            #expect(call.status == 200)
            #expect(call["Access-Control-Allow-Origin"] == nil)
        }
    }

    @Test func aListLetsItsOriginsInAndNoOthers() async throws {
        try await RunningHost.serving { host in
            let inside = try await preflight(host, "us-central1/oneOrigin", origin: "https://shop.example")
            #expect(inside["Access-Control-Allow-Origin"] == "https://shop.example")
            let outside = try await preflight(host, "us-central1/oneOrigin")
            #expect(outside["Access-Control-Allow-Origin"] == nil)
            #expect(outside["Vary"]?.contains("Origin") == true)
            let similar = try await preflight(host, "us-central1/oneOrigin", origin: "https://shop.example.evil.org")
            #expect(similar["Access-Control-Allow-Origin"] == nil)
        }
    }

    @Test func anHTTPFunctionHasNoneUnlessItSaysSo() async throws {
        try await RunningHost.serving { host in
            let open = try await preflight(host, "us-central1/http")
            #expect(open.status == 204)
            #expect(open["Access-Control-Allow-Origin"] == "https://page.example")
            let closed = try await host.functions.send(
                "GET", "/demo-shop/us-central1/streamed", headers: ["Origin": "https://page.example"])
            #expect(closed.status == 200)
            #expect(closed["Access-Control-Allow-Origin"] == nil)
        }
    }
}
