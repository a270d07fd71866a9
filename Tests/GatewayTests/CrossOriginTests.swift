import DocumentModel
import FunctionManifest
import Gateway
import NIOCore
import Testing
import Workers
import WorkerTesting

/// What lets pages of other origins read a function's answers, and what doesn't.
@Suite struct CrossOriginTests {
    private static let page = "https://page.example"
    private static let shop = "https://shop.example"

    private func preflight(_ ring: GatewayRing, _ name: String, origin: String = page) throws -> RingAnswer {
        let client = try ring.send(
            "OPTIONS", GatewayRing.path(name),
            [
                "Origin": origin, "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,content-type",
            ])
        return try #require(client.answer)
    }

    @Test func aCallableReflectsEveryOriginByDefault() throws {
        try GatewayRing.with([.callable("echo")]) { ring in
            ring.processes.handler = { $0.end($0.text) }
            let preflight = try preflight(ring, "echo")
            #expect(preflight.status == 204)
            #expect(preflight.body.isEmpty)
            #expect(preflight["Access-Control-Allow-Origin"] == Self.page)
            #expect(preflight["Access-Control-Allow-Methods"] == "POST")
            #expect(preflight["Access-Control-Allow-Headers"] == "authorization,content-type")
            // What it allows differs by both.
            #expect(preflight["Vary"] == "Origin, Access-Control-Request-Headers")
            #expect(ring.processes.workers.isEmpty)
            let call = try ring.call("echo", "1", ["Origin": Self.page])
            #expect(call.answer?["Access-Control-Allow-Origin"] == Self.page)
            #expect(call.answer?["Vary"]?.contains("Origin") == true)
        }
    }

    @Test func crossOriginCanBeOff() throws {
        try GatewayRing.with([.callable("closed", cors: .off)]) { ring in
            ring.processes.handler = { $0.end($0.text) }
            #expect(try preflight(ring, "closed")["Access-Control-Allow-Origin"] == nil)
            let call = try #require(try ring.call("closed", "1", ["Origin": Self.page]).answer)
            #expect(call.status == 200)
            #expect(call["Access-Control-Allow-Origin"] == nil)
        }
    }

    @Test func aListLetsItsOriginsInAndNoOthers() throws {
        try GatewayRing.with([.callable("listed", cors: .origins([Self.shop]))]) { ring in
            #expect(try preflight(ring, "listed", origin: Self.shop)["Access-Control-Allow-Origin"] == Self.shop)
            let outside = try preflight(ring, "listed")
            #expect(outside["Access-Control-Allow-Origin"] == nil)
            #expect(outside["Vary"]?.contains("Origin") == true)
            let similar = try preflight(ring, "listed", origin: Self.shop + ".evil.org")
            #expect(similar["Access-Control-Allow-Origin"] == nil)
        }
    }

    @Test func aPatternLetsSubdomainsInAndNoOthers() throws {
        try GatewayRing.with([.callable("listed", cors: .origins(["https://*.shop.example", Self.page]))]) { ring in
            for origin in ["https://eu.shop.example", Self.page] {
                #expect(try preflight(ring, "listed", origin: origin)["Access-Control-Allow-Origin"] == origin)
            }
            for origin in [Self.shop, "https://evil-shop.example", "https://a.shop.example.evil.org"] {
                let outside = try preflight(ring, "listed", origin: origin)
                #expect(outside["Access-Control-Allow-Origin"] == nil)
                #expect(outside["Vary"]?.contains("Origin") == true)
            }
        }
    }

    @Test func anHTTPFunctionHasNoneUnlessItSaysSo() throws {
        try GatewayRing.with([.http("open", cors: .any), .http("closed")]) { ring in
            ring.processes.handler = { $0.end("x") }
            let open = try preflight(ring, "open")
            #expect(open.status == 204)
            #expect(open["Access-Control-Allow-Origin"] == Self.page)
            #expect(open["Access-Control-Allow-Methods"] == "GET,HEAD,PUT,PATCH,POST,DELETE")
            #expect(ring.processes.workers.isEmpty)
            // A function without the option answers OPTIONS itself.
            let closed = try preflight(ring, "closed")
            #expect(closed.status == 200)
            #expect(closed["Access-Control-Allow-Origin"] == nil)
            let get = try ring.send("GET", GatewayRing.path("closed"), ["Origin": Self.page])
            #expect(get.answer?.body == "x")
            #expect(get.answer?["Access-Control-Allow-Origin"] == nil)
        }
    }

    /// As in Express, where the option's headers are set before the handler runs. Browsers take two of them for none.
    @Test(arguments: [CORSPolicy.any, .off]) func anOriginThatAnHTTPFunctionAllowsReplacesTheOptions(
        policy: CORSPolicy
    ) throws {
        try GatewayRing.with([.http("f", cors: policy)]) { ring in
            ring.processes.handler = { invocation in
                invocation.send(
                    status: 200,
                    [
                        (name: "access-control-allow-origin", value: Self.shop),
                        (name: "Access-Control-Allow-Credentials", value: "true"),
                    ])
                invocation.end("x")
            }
            let answer = try #require(try ring.send("GET", GatewayRing.path("f"), ["Origin": Self.page]).answer)
            let origins = answer.headers.filter { $0.name.lowercased() == "access-control-allow-origin" }
            #expect(origins.map { $0.value } == [Self.shop])
            #expect(answer["Access-Control-Allow-Credentials"] == "true")
            #expect(answer["Vary"] == (policy == .off ? nil : "Origin"))
        }
    }

    @Test func aPageSeesThatThereIsNoSuchFunction() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let preflight = try preflight(ring, "gone")
            #expect(preflight.status == 204)
            #expect(preflight["Access-Control-Allow-Origin"] == Self.page)
            #expect(preflight["Access-Control-Allow-Headers"] == "authorization,content-type")
            let call = try #require(try ring.call("gone", "1", ["Origin": Self.page]).answer)
            #expect(call.status == 404)
            #expect(call.body.contains(#""status":"NOT_FOUND""#))
            #expect(call["Access-Control-Allow-Origin"] == Self.page)
            let region = try ring.send("POST", "/\(GatewayRing.project)/mars-east1/f", ["Origin": Self.page])
            #expect(region.answer?.status == 404)
            #expect(region.answer?["Access-Control-Allow-Origin"] == Self.page)
            // This isn't a preflight.
            #expect(try ring.send("OPTIONS", "/gone").answer?.status == 404)
        }
    }

    @Test(arguments: [CORSPolicy.any, .off, .origins([shop])])
    func aBodyThatIsTooLargeIsRefusedByTheFunctionsPolicy(policy: CORSPolicy) throws {
        var limits = HostLimits()
        limits.requestBody = 10
        try GatewayRing.with([.callable("f", cors: policy)], limits: limits) { ring in
            let answer = try #require(try ring.call("f", "\"12345\"", ["Origin": Self.shop]).answer)
            #expect(answer.status == 413)
            #expect(answer["Access-Control-Allow-Origin"] == (policy == .off ? nil : Self.shop))
        }
    }

    /// SDKs that asked for a stream wait for ever on anything else.
    @Test func aStreamThatCannotBeginIsOneEvent() throws {
        var limits = HostLimits()
        limits.requestBody = 20
        try GatewayRing.with([.callable("f"), .http("h", cors: .any)], limits: limits) { ring in
            let headers = ["Origin": Self.page, "Accept": "text/event-stream"]
            let unknown = try #require(try ring.call("gone", "1", headers).answer)
            #expect(unknown.status == 200)
            #expect(unknown["Content-Type"] == "text/event-stream")
            #expect(unknown["Access-Control-Allow-Origin"] == Self.page)
            #expect(
                unknown.body == #"data: {"error":{"message":"There is no function at \#(GatewayRing.path("gone")).","#
                    + #""status":"NOT_FOUND"}}"# + "\n\n")
            let large = try #require(try ring.call("f", "\"0123456789012\"", headers).answer)
            #expect(large.status == 200)
            #expect(large.body.hasPrefix(#"data: {"error":{"message":"The request body is larger"#))
            // An HTTP function's clients expect a status.
            #expect(try ring.call("h", "\"0123456789012\"", headers).answer?.status == 413)
            #expect(try ring.send("GET", "/gone", headers).answer?.status == 404)
        }
    }

    /// How a request comes to fail.
    enum Fault: CaseIterable {
        case failure, lostWorker, deadline, unstarted, paused, tooOften
    }

    /// A page must be able to read why its request was refused, at each of these places.
    @Test(arguments: Fault.allCases, [true, false])
    func errorsHaveTheirHeadersToo(fault: Fault, isCallable: Bool) throws {
        for isOpen in [true, false] {
            var manifest =
                isCallable
                ? FunctionManifest.callable("f", cors: isOpen ? .any : .off) : .http("f", cors: isOpen ? .any : .off)
            if fault == .tooOften { manifest.rateLimits = [RateLimitManifest(per: .address, count: 1, seconds: 3600)] }
            try GatewayRing.with([manifest]) { ring in
                func send() throws -> RingClient {
                    guard isCallable else { return try ring.send("GET", GatewayRing.path("f"), ["Origin": Self.page]) }
                    return try ring.call("f", "1", ["Origin": Self.page])
                }
                if fault == .unstarted { ring.processes.start = .fails }
                if fault == .paused { ring.function("f")?.gate.isPaused = true }
                if fault == .tooOften {
                    ring.processes.handler = { $0.end("1") }
                    #expect(try send().answer?.status == 200)
                }
                let client = try send()
                switch fault {
                case .failure: try #require(ring.next()).fail(.notFound, "x")
                case .lostWorker: try #require(ring.worker).crash()
                case .deadline, .unstarted: ring.advance(.seconds(61))
                case .paused, .tooOften: break
                }
                ring.run()
                let answer = try #require(client.answer)
                let statuses: [Fault: Int] = [
                    .failure: 404, .lostWorker: 500, .deadline: 504, .unstarted: 500, .paused: 503, .tooOften: 429,
                ]
                #expect(answer.status == statuses[fault])
                #expect(answer["Access-Control-Allow-Origin"] == (isOpen ? Self.page : nil))
                #expect(answer["Vary"] == (isOpen ? "Origin" : nil))
                #expect(answer["Content-Type"] == "application/json; charset=utf-8")
            }
        }
    }
}
