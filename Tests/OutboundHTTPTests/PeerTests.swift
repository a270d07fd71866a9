import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import OutboundHTTP

/// What peers may answer, and what may stand between.
@Suite(.endsHangs) struct PeerTests {
    private static let limits = OutboundLimits(maxBytes: 1000, silence: .seconds(10), whole: .seconds(30))

    private func send(
        _ request: OutboundRequest, _ variables: [String: String] = [:]
    ) async -> Result<OutboundResponse, OutboundError> {
        let client = OutboundClient(clock: ManualClock(), settings: NetworkSettings(variables))
        do throws(OutboundError) {
            return .success(try await client.send(request))
        } catch {
            return .failure(error)
        }
    }

    private func answer(to text: String, body: [UInt8]? = nil) async throws -> Result<OutboundResponse, OutboundError> {
        let result = Mutex<Result<OutboundResponse, OutboundError>?>(nil)
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            try await connection.send(text)
        } body: { address in
            let outcome = await send(OutboundRequest(to: address, body: body, limits: Self.limits))
            result.withLock { $0 = outcome }
        }
        return try #require(result.withLock { $0 })
    }

    @Test func chunksMayEndWithATrailer() async throws {
        let response = try await answer(
            to: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"
        ).get()
        #expect(response.body == Array("ok".utf8))
    }

    @Test(
        arguments: [
            "HTTP/1.1 200", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nX-Na", "HTTP/1.1 200 OK\r\nX-Name: va",
        ])
    func aHeadThatIsCutOffIsLost(text: String) async throws {
        for body in [nil, [1]] as [[UInt8]?] {
            guard case .failure(let error) = try await answer(to: text, body: body) else {
                Issue.record("the response has no head")
                return
            }
            #expect(error.kind == .lost)
        }
    }

    @Test(arguments: ["SSH-2.0-OpenSSH\r\n", "<html></html>\r\n\r\n"])
    func whatIsNotHTTPIsLost(text: String) async throws {
        guard case .failure(let error) = try await answer(to: text, body: [1]) else {
            Issue.record("the response isn't HTTP")
            return
        }
        #expect(error.kind == .lost)
    }

    @Test func aChallengeIsAResponse() async throws {
        let response = try await answer(
            to: "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\nContent-Length: 2\r\n\r\nno",
            body: [1]
        ).get()
        #expect(response.status == 401)
        #expect(response.body == Array("no".utf8))
    }

    @Test func headersMayBeBlankOrWithoutSpaceOrRepeated() async throws {
        let response = try await answer(
            to: "HTTP/1.1 200 OK\r\nX-Close:by\r\nX-Blank:\r\nX-Many: a\r\nX-many: b\r\nContent-Length:0\r\n\r\n"
        ).get()
        #expect(response.header("x-close") == "by")
        #expect(response.header("x-blank") == "")
        #expect(response.header("x-many") == "a, b")
    }

    @Test func connectionsAreKeptAlive() async throws {
        let connections = Mutex(0)
        try await ScriptedServer.run { connection in
            connections.withLock { $0 += 1 }
            while !(try await connection.request()).isEmpty {
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        } body: { address in
            let client = OutboundClient(clock: ManualClock())
            for _ in 0..<5 {
                let response = try await client.send(OutboundRequest(to: address, body: [1], limits: Self.limits))
                #expect(response.status == 200)
            }
        }
        #expect(connections.withLock { $0 } == 1)
    }

    @Test func readsAreRepeatedOnceIfTheirConnectionCloses() async throws {
        let methods = Mutex<[String]>([])
        try await ScriptedServer.run { connection in
            let request = try await connection.request()
            methods.withLock { $0.append(String(request.prefix { $0 != " " })) }
        } body: { address in
            for method in ["GET", "POST"] {
                let outcome = await send(OutboundRequest(to: address, method: method, limits: Self.limits))
                guard case .failure(let error) = outcome else {
                    Issue.record("no response was sent")
                    continue
                }
                #expect(error.kind == .lost)
            }
        }
        #expect(methods.withLock { $0 } == ["GET", "GET", "POST"])
    }

    @Test func manyExchangesRunInParallel() async throws {
        try await ScriptedServer.run { connection in
            while !(try await connection.request()).isEmpty {
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        } body: { address in
            let client = OutboundClient(clock: ManualClock())
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<1000 {
                    group.addTask { try await client.send(OutboundRequest(to: address, limits: Self.limits)).status }
                }
                for try await status in group { #expect(status == 200) }
            }
        }
    }

    @Test func clientsMayBeFreedAtOnce() async throws {
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await connection.untilClosed()
        } body: { address in
            for _ in 0..<100 {
                _ = OutboundClient(clock: ManualClock())
                let response = try await send(OutboundRequest(to: address, limits: Self.limits)).get()
                #expect(response.status == 200)
            }
        }
        // A server that accepts connections and never answers; the requests are still being cancelled then.
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        for _ in 0..<100 {
            let request = OutboundRequest(to: "http://127.0.0.1:\(port)/", limits: Self.limits)
            let task = Task { await send(request) }
            task.cancel()
            _ = await task.value
        }
        try await server.close()
    }

    @Test func aUserInTheAddressIsSentAsBasicAuthentication() async throws {
        let seen = Mutex("")
        try await ScriptedServer.run { connection in
            let request = try await connection.request()
            seen.withLock { $0 = request }
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        } body: { address in
            let withUser = address.replacing("http://", with: "http://us%40er:pa%3Ass@")
            _ = try await send(OutboundRequest(to: withUser, limits: Self.limits)).get()
        }
        let request = seen.withLock { $0 }
        #expect(request.hasPrefix("GET /path?token=secret HTTP/1.1\r\n"))
        #expect(request.contains("Authorization: Basic dXNAZXI6cGE6c3M=\r\n"))
    }

    @Test func aProxyReceivesTheWholeAddress() async throws {
        let seen = Mutex("")
        try await ScriptedServer.run { connection in
            let request = try await connection.request()
            seen.withLock { $0 = request }
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        } body: { address in
            let proxy = address.replacing("http://", with: "http://user:pass@")
            let response = try await send(
                OutboundRequest(to: "http://service.invalid:81/a%20b?c=%25", limits: Self.limits),
                ["http_proxy": proxy]
            ).get()
            #expect(response.body == Array("ok".utf8))
        }
        let request = seen.withLock { $0 }
        #expect(request.hasPrefix("GET http://service.invalid:81/a%20b?c=%25 HTTP/1.1\r\n"))
        #expect(request.contains("Host: service.invalid:81\r\n"))
        #expect(request.contains("Proxy-Authorization: Basic dXNlcjpwYXNz\r\n"))
    }

    @Test func aProxyIsAskedForATunnelToAnHTTPSService() async throws {
        let seen = Mutex("")
        try await ScriptedServer.run { connection in
            let request = try await connection.request()
            seen.withLock { $0 = request }
            try await connection.send("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        } body: { address in
            let proxy = address.replacing("http://", with: "user:pass@")
            let outcome = await send(
                OutboundRequest(to: "https://service.invalid/?token=secret", limits: Self.limits),
                ["HTTPS_PROXY": proxy])
            let reason = "the proxy requires another user or password"
            #expect(outcome == .failure(OutboundError(.notSent, host: "service.invalid", reason)))
        }
        let request = seen.withLock { $0 }
        #expect(request.hasPrefix("CONNECT service.invalid:443 HTTP/1.1\r\n"))
        #expect(request.lowercased().contains("proxy-authorization: basic dxnlcjpwyxnz\r\n"))
        #expect(!request.contains("secret"))
    }

    @Test func anUnusableProxyIsAnError() async {
        let outcome = await send(
            OutboundRequest(to: "https://service.invalid/", limits: Self.limits), ["all_proxy": "socks5h://a:secret@b"])
        let reason = "all_proxy names a proxy of the kind socks5h; only http is supported"
        #expect(outcome == .failure(OutboundError(.notSent, host: "service.invalid", reason)))
    }

    /// Its certificate would be compared with the proxy's address.
    @Test func anAddressIsNotReachedByATunnel() async {
        let outcome = await send(
            OutboundRequest(to: "https://10.0.0.1/", limits: Self.limits), ["https_proxy": "127.0.0.1:1"])
        let reason = "an https address needs a name to be reached by a proxy"
        #expect(outcome == .failure(OutboundError(.notSent, host: "10.0.0.1", reason)))
    }

    @Test func anUnknownHostHasReceivedNothing() async {
        let outcome = await send(OutboundRequest(to: "http://service.invalid/", limits: Self.limits))
        guard case .failure(let error) = outcome else {
            Issue.record("the host doesn't exist (RFC 6761)")
            return
        }
        #expect(error.kind == .notSent)
    }

    /// The server isn't one for TLS.
    @Test func aServiceWithoutTLSHasReceivedNothing() async throws {
        try await ScriptedServer.run { connection in
            _ = try await connection.part()
            try await connection.send("HTTP/1.1 400 Bad Request\r\n\r\n")
        } body: { address in
            let secure = address.replacing("http://", with: "https://")
            let outcome = await send(OutboundRequest(to: secure, body: [1], limits: Self.limits))
            guard case .failure(let error) = outcome else {
                Issue.record("the service can't be trusted")
                return
            }
            #expect(error.kind == .notSent)
            #expect(error.reason == "the TLS handshake failed")
        }
    }

    @Test func rootsThatCannotBeReadAreAnError() async throws {
        try await ScriptedServer.run { connection in
            _ = try await connection.part()
        } body: { address in
            let secure = address.replacing("http://", with: "https://")
            let outcome = await send(
                OutboundRequest(to: secure, limits: Self.limits), ["SSL_CERT_FILE": "/nowhere/roots.pem"])
            guard case .failure(let error) = outcome else {
                Issue.record("the service can't be trusted")
                return
            }
            #expect(error.kind == .notSent)
            #expect(error.reason == "the file of trusted roots (SSL_CERT_FILE) can't be read")
        }
    }

    @Test func aHeaderThatIsNotValidIsNotSentAndNotRepeated() async {
        let request = OutboundRequest(
            to: "http://127.0.0.1:1/", headers: ["Authorization": "Bearer secret\r\n"], limits: Self.limits)
        let reason = "the request has an invalid header"
        #expect(await send(request) == .failure(OutboundError(.notSent, host: "127.0.0.1:1", reason)))
    }
}
