import TestSupport
import Testing

/// Functions that bound how often one caller may call.
@Suite(.endsHangs) struct RateLimitTests {
    static let retryInfo = "type.googleapis.com/google.rpc.RetryInfo"

    @Test func aUserWhoCallsTooOftenIsToldWhenToTryAgain() async throws {
        try await RunningHost.serving { host in
            let (ada, bob) = (try await SignedInUser.create(host), try await SignedInUser.create(host))
            for _ in 1...3 { #expect(try await host.call("thrice", "null", headers: ada.headers).status == 200) }
            let refused = try await host.call("thrice", "null", headers: ada.headers)
            #expect(refused.status == 429)
            let error = refused.json["error"]
            #expect(error?["status"]?.text == "RESOURCE_EXHAUSTED")
            #expect(error?["message"]?.text?.hasPrefix("thrice takes 3 calls in 3600 s from one user.") == true)
            let wait = try #require(refused["Retry-After"].flatMap { Int($0) })
            #expect((1...1200).contains(wait))
            #expect(error?["details"]?[0]?["@type"]?.text == Self.retryInfo)
            #expect(error?["details"]?[0]?["retryDelay"]?.text == "\(wait)s")
            #expect(try await host.call("thrice", "null", headers: bob.headers).status == 200)
            for _ in 1...3 { #expect(try await host.call("thrice", "null").status == 200) }
            #expect(try await host.call("thrice", "null").status == 429)
            let streamed = try await host.call("thrice", "null", headers: StreamingTests.stream)
            #expect(streamed.status == 200)
            #expect(streamed.events.first?["error"]?["status"]?.text == "RESOURCE_EXHAUSTED")
        }
    }

    @Test func addressesBehindATrustedProxyAreToldApart() async throws {
        try await RunningHost.serving { host in
            func get(from address: String) async throws -> HTTPAnswer {
                try await host.functions.send(
                    "GET", "/demo-shop/us-central1/twicePerAddress", headers: ["X-Forwarded-For": address])
            }
            // Nobody is trusted: all come from one address.
            for number in 1...2 { #expect(try await get(from: "192.0.2.\(number)").status == 200) }
            let refused = try await get(from: "192.0.2.3")
            #expect(refused.status == 429)
            #expect(refused["Retry-After"] != nil)
            #expect(refused.json["error"]?["message"]?.text?.contains("from one address") == true)
        }
        try await RunningHost.serving(trustedProxies: "127.0.0.1") { host in
            func get(from address: String) async throws -> HTTPAnswer {
                try await host.functions.send(
                    "GET", "/demo-shop/us-central1/twicePerAddress", headers: ["X-Forwarded-For": address])
            }
            for number in 1...2 {
                for _ in 1...2 { #expect(try await get(from: "203.0.113.1, 192.0.2.\(number)").status == 200) }
                let refused = try await get(from: "192.0.2.\(number)")
                #expect(refused.status == 429)
            }
        }
    }

    @Test func theOperatorMayLiftALimitOrSetAnother() async throws {
        let functions = """
            "functions": { "thrice": { "callerLimits": [] },
              "echo": { "callerLimits": [{ "per": "address", "count": 1, "seconds": 3600 }] } }
            """
        try await RunningHost.serving(extra: functions) { host in
            for _ in 1...5 { #expect(try await host.call("thrice", "null").status == 200) }
            try await host.expectEcho()
            #expect(try await host.call("echo", "1", region: "asia-northeast1").status == 429)
        }
    }
}
