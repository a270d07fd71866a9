import FunctionsHTTPClient
import FunctionsRuntime
import FunctionsTesting
import Synchronization
import TestSupport
import Testing

/// What handlers fetch from a server.
@Suite(.endsHangs) struct FetchTests {
    private struct Item: Codable, Equatable {
        var id: Int64
        var name: String
    }

    private static func answer(_ body: String, status: String = "200 OK", _ headers: String = "") -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)"
    }

    /// A machine that stands still for a minute fails no test.
    private func fetch(
        _ url: String, method: String? = nil, headers: Headers = [:], body: FetchBody? = nil,
        timeout: Duration = .seconds(36_000)
    ) async throws -> FetchResponse {
        try await FunctionsHTTPClient.fetch(url, method: method, headers: headers, body: body, timeout: timeout)
    }

    /// The code of the error that the work throws.
    private func code(_ work: () async throws -> Void) async -> FetchError.Code? {
        let error = await #expect(throws: FetchError.self) { try await work() }
        return error?.code
    }

    @Test func aRequestHasWhatItIsGiven() async throws {
        let requests = Mutex<[String]>([])
        try await ScriptedServer.run { connection in
            let request = try await connection.request()
            requests.withLock { $0.append(request) }
            try await connection.send(Self.answer(#"{"id":9007199254740993,"name":"tea"}"#))
        } body: { address in
            let answer = try await fetch(
                address, headers: ["X-A": "1"], body: .json(Item(id: .max, name: "ä")))
            #expect(answer.status == 200)
            #expect(answer.isSuccess)
            #expect(try await answer.json(as: Item.self) == Item(id: 9_007_199_254_740_993, name: "tea"))
            _ = try await fetch(address, method: "put", body: .form(["a b": "c&d=/", "e": "ü"])).text()
        }
        let seen = requests.withLock { $0 }
        #expect(seen[0].hasPrefix("POST /path?token=secret HTTP/1.1\r\n"))
        #expect(seen[0].contains("X-A: 1\r\n"))
        #expect(seen[0].contains("Content-Type: application/json\r\n"))
        #expect(seen[0].hasSuffix(#"{"id":9223372036854775807,"name":"ä"}"#))
        #expect(seen[1].hasPrefix("PUT "))
        #expect(seen[1].hasSuffix("a%20b=c%26d%3D%2F&e=%C3%BC"))
    }

    /// A handler may pass them on with the body.
    @Test func headersDescribeTheDecompressedBody() async throws {
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            // "w0w" as zlib writes it.
            let body = "x\u{1}+7(\u{7}\u{0}\u{2}?\u{1}\u{1F}"
            try await connection.send(Self.answer(body, "Content-Encoding: deflate\r\nX-A: 1\r\n"))
        } body: { address in
            let answer = try await fetch(address)
            #expect(answer.headers.all.map(\.name) == ["X-A"])
            #expect(try await answer.text() == "w0w")
        }
    }

    @Test func connectionsAreKept() async throws {
        let connections = Atomic(0)
        repeat {
            // One that was idle for long is closed.
            connections.store(0, ordering: .relaxed)
            try await ScriptedServer.run { connection in
                connections.add(1, ordering: .relaxed)
                while !(try await connection.request()).isEmpty { try await connection.send(Self.answer("x")) }
            } body: { address in
                for _ in 0..<5 {
                    let text = try await fetch(address).text()
                    #expect(text == "x")
                }
            }
        } while connections.load(ordering: .relaxed) > 1
    }

    @Test(arguments: ["GET", "PUT", "DELETE"])
    func aKeptConnectionThatIsClosedCostsNothing(method: String) async throws {
        let requests = Atomic(0)
        try await ScriptedServer.run { connection in
            // The first connection is closed without an answer, as by a server that had closed it before.
            guard !(try await connection.request()).isEmpty else { return }
            if requests.add(1, ordering: .relaxed).oldValue > 0 { try await connection.send(Self.answer("x")) }
        } body: { address in
            let text = try await fetch(address, method: method).text()
            #expect(text == "x")
        }
        #expect(requests.load(ordering: .relaxed) == 2)
    }

    @Test func aPostIsNotSentTwice() async throws {
        let requests = Atomic(0)
        try await ScriptedServer.run { connection in
            if !(try await connection.request()).isEmpty { requests.add(1, ordering: .relaxed) }
        } body: { address in
            let error = await #expect(throws: FetchError.self) { try await fetch(address, body: .text("x")) }
            #expect(error?.code == .unreachable)
            #expect(
                error?.description.hasSuffix("/path: the connection was closed before the response was complete")
                    == true)
        }
        #expect(requests.load(ordering: .relaxed) == 1)
    }

    @Test func partsArriveAsTheyAreSent() async throws {
        let (reads, read) = AsyncStream.makeStream(of: Void.self)
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            var permits = reads.makeAsyncIterator()
            for number in 0..<3 {
                try await connection.send("data: {\"n\":\(number)}\n\n")
                // The next event is sent only when this one was received.
                await permits.next()
            }
        } body: { address in
            var numbers: [JSONValue?] = []
            for try await event in try await fetch(address).events {
                numbers.append(try event.json(as: JSONValue.self)["n"])
                read.yield()
            }
            #expect(numbers == [0, 1, 2])
        }
    }

    @Test func aStreamedBodyIsSent() async throws {
        let received = Mutex("")
        try await ScriptedServer.run { connection in
            var text = ""
            while !text.hasSuffix("0\r\n\r\n") { text += try await connection.part() }
            received.withLock { $0 = text }
            try await connection.send(Self.answer("done"))
        } body: { address in
            let parts = AsyncStream<[UInt8]> { continuation in
                for part in ["one", "two"] { continuation.yield(Array(part.utf8)) }
                continuation.finish()
            }
            let text = try await fetch(address, method: "PUT", body: .stream(parts)).text()
            #expect(text == "done")
        }
        let text = received.withLock { $0 }
        #expect(text.contains("Transfer-Encoding: chunked\r\n") || text.contains("transfer-encoding: chunked\r\n"))
        #expect(text.contains("one") && text.contains("two"))
    }

    @Test func redirectsAreFollowedWithoutCredentialsToAnotherOrigin() async throws {
        let seen = Mutex<[String]>([])
        try await ScriptedServer.run { connection in
            let request = try await connection.request()
            seen.withLock { $0.append(request) }
            try await connection.send(Self.answer("there"))
        } body: { other in
            try await ScriptedServer.run { connection in
                _ = try await connection.request()
                try await connection.send(Self.answer("", status: "302 Found", "Location: \(other)\r\n"))
            } body: { address in
                let text = try await fetch(address, headers: ["Authorization": "Bearer key"]).text()
                #expect(text == "there")
            }
        }
        let requests = seen.withLock { $0 }
        #expect(requests.count == 1)
        #expect(!requests[0].lowercased().contains("authorization"))
    }

    @Test func aStatusIsAnErrorOnRequest() async throws {
        try await ScriptedServer.run { connection in
            while !(try await connection.request()).isEmpty {
                try await connection.send(Self.answer("the key is invalid", status: "403 Forbidden"))
            }
        } body: { address in
            let answer = try await fetch(address)
            #expect(answer.status == 403)
            let error = await #expect(throws: FetchError.self) { try await answer.requireSuccess() }
            #expect(error?.code == .status)
            #expect(error?.status == 403)
            #expect(error?.description.hasSuffix("/path: 403: the key is invalid") == true)
            #expect(error?.description.contains("secret") == false, "the query may contain keys")
        }
    }

    @Test func bodiesAreBoundedAndReadOnce() async throws {
        try await ScriptedServer.run { connection in
            while !(try await connection.request()).isEmpty { try await connection.send(Self.answer("0123456789")) }
        } body: { address in
            let large = try await fetch(address)
            #expect(await code { _ = try await large.bytes(upTo: 9) } == .tooLarge)
            let answer = try await fetch(address)
            #expect(try await answer.bytes(upTo: 10).count == 10)
            #expect(await code { _ = try await answer.text() } == .alreadyRead)
            let number = try await fetch(address)
            let error = await #expect(throws: FetchError.self) { try await number.json(as: Item.self) }
            #expect(error?.code == .malformed)
            #expect(error?.message.contains("response") == true)
        }
    }

    @Test func aServerThatIsSilentTimesOut() async throws {
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            await connection.untilClosed()
        } body: { address in
            let error = await #expect(throws: FetchError.self) {
                try await fetch(address, timeout: .milliseconds(20))
            }
            #expect(error?.code == .timedOut)
        }
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            await connection.untilClosed()
        } body: { address in
            // On a busy machine the status may need longer.
            var timeout = Duration.seconds(1)
            var answer = try? await fetch(address, timeout: timeout)
            while answer == nil {
                timeout *= 2
                answer = try? await fetch(address, timeout: timeout)
            }
            #expect(await code { _ = try await answer?.text() } == .timedOut)
        }
    }

    @Test func aBodyThatEndsEarlyIsAnError() async throws {
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        } body: { address in
            let answer = try await fetch(address)
            #expect(await code { _ = try await answer.text() } == .unreachable)
        }
    }

    @Test func cancellationEndsTheRequest() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            arrived.yield()
            await connection.untilClosed()
        } body: { address in
            let call = Task { try await fetch(address).text() }
            for await _ in arrivals { break }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
    }

    @Test(arguments: [
        "", "ftp://a/", "https://", "http:///x", "/relative", "http://a/ b", "http://ä/", "http://127.0.0.1:70000/",
        "http://127.0.0.1:0/", "http://[::1]:99999/", "http://user:secret@a:b/?key=secret",
    ])
    func anInvalidURLIsAnError(url: String) async throws {
        let error = await #expect(throws: FetchError.self) { try await fetch(url) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.description.contains("secret") == false)
    }

    @Test func anInvalidHeaderIsAnError() async throws {
        let error = await #expect(throws: FetchError.self) {
            try await fetch("http://127.0.0.1:9/", headers: ["X-A": "a\r\nX-B: b"])
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test(arguments: ["", "GET /a HTTP/1.1\r\nX-B: b\r\n\r\nGET", "PO ST", "GET\n", "GET,PUT", "LÖSCHE"])
    func anInvalidMethodIsAnError(method: String) async throws {
        let error = await #expect(throws: FetchError.self) { try await fetch("http://127.0.0.1:9/", method: method) }
        #expect(error?.code == .invalidRequest)
    }

    @Test func nothingListens() async throws {
        let error = await #expect(throws: FetchError.self) { try await fetch("http://127.0.0.1:1/") }
        #expect(error?.code == .unreachable)
    }
}

/// Where redirects lead, and what is sent there.
@Suite struct RedirectTests {
    /// The requests that one causes, if its first response redirects.
    private func requests(
        _ status: Int, to location: String, method: String? = nil, body: FetchBody? = nil, follows: Bool = true
    ) async throws -> [FetchRequest] {
        let requests = Mutex<[FetchRequest]>([])
        try await withFetch { request in
            let isFirst = requests.withLock { requests in
                requests.append(request)
                return requests.count == 1
            }
            return isFirst ? .redirect(to: location, status: status) : .text("there")
        } run: {
            _ = try await fetch(
                "https://a.example/x/y?z", method: method,
                headers: ["X-Api-Key": "key", "Authorization": "key", "Accept": "text/plain"], body: body,
                followsRedirects: follows)
        }
        return requests.withLock { $0 }
    }

    @Test func theSameOriginGetsAll() async throws {
        let requests = try await requests(307, to: "../w", method: "PUT", body: .text("t"))
        #expect(requests.map(\.url) == ["https://a.example/x/y?z", "https://a.example/w"])
        #expect(requests[1].method == "PUT" && requests[1].text == "t")
        #expect(requests[1].headers["X-Api-Key"] == "key")
        let explicit = try await self.requests(302, to: "https://A.example:443/w")
        #expect(explicit.last?.headers["Authorization"] == "key")
    }

    @Test(arguments: ["https://b.example/", "https://a.example:8443/", "//b.example/"])
    func anotherOriginGetsNoSecrets(location: String) async throws {
        let requests = try await requests(302, to: location)
        #expect(requests.count == 2)
        #expect(requests[1].headers.map(\.name) == ["Accept", "User-Agent"])
        #expect(try await self.requests(307, to: location, body: .text("secret")).count == 1)
    }

    @Test func aPostBecomesAGet() async throws {
        for status in [301, 302, 303] {
            let requests = try await requests(status, to: "/w", body: .text("t"))
            #expect(requests.map(\.method) == ["POST", "GET"])
            #expect(requests[1].body.isEmpty && requests[1].headers["Content-Type"] == nil)
        }
    }

    @Test(arguments: ["http://a.example/", "ftp://a.example/", "https://a.example:99999/", "http://["])
    func otherTargetsAreNotFollowed(location: String) async throws {
        #expect(try await requests(302, to: location).count == 1)
        #expect(try await requests(302, to: "/w", follows: false).count == 1)
    }

    @Test func anEndlessChainEnds() async throws {
        let error = await #expect(throws: FetchError.self) {
            try await withFetch { _ in
                .redirect(to: "/again")
            } run: {
                try await fetch("https://a.example/")
            }
        }
        #expect(error?.message == "more than 20 redirects")
    }

    @Test(arguments: [
        ("https://a.example/x?a=1", "https://a.example/x?a=1&q=%C3%A4%20b%26c%3D%2F&r="),
        ("https://a.example/x#y?z", "https://a.example/x?q=%C3%A4%20b%26c%3D%2F&r=#y?z"),
    ])
    func aQueryIsEncoded(base: String, expected: String) async throws {
        let url = try await withFetch { request in
            .text(request.url)
        } run: {
            try await fetch(base, query: ["q": "ä b&c=/", "r": ""]).text()
        }
        #expect(url == expected)
    }
}

/// What a handler's requests have of its invocation, and what tests answer.
@Suite(.endsHangs) struct FetchingHandlerTests {
    private struct Relay: FunctionBundle {
        var functions: [Function] {
            onCall("relay") { (request: CallableRequest<String>) in try await fetch(request.data).text() }
        }
    }

    @Test func theTraceIsPassedOn() async throws {
        let tester = try FunctionsTester(Relay())
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        try await withFetch { request in
            .text("\(request.headers["traceparent"] ?? "none") \(request.headers["tracestate"] ?? "none")")
        } run: {
            let with: String = try await tester.call("relay", "http://a/", headers: ["Traceparent": trace])
            #expect(with == "\(trace) none")
            let without: String = try await tester.call("relay", "http://a/")
            #expect(without == "none none")
        }
    }

    @Test func testsAnswerRequests() async throws {
        let answer = try await withFetch { request in
            #expect(request.method == "POST")
            let fields = try request.json(as: [String: Int].self)
            #expect(fields == ["n": 1])
            return .stream(status: 201) { writer in
                try await writer.write("a\n")
                try await writer.write("b\n")
            }
        } run: {
            try await fetch("http://a/", body: .json(["n": 1]))
        }
        #expect(answer.status == 201)
        var lines: [String] = []
        for try await line in answer.lines { lines.append(line) }
        #expect(lines == ["a", "b"])
    }

    @Test func anUncaughtErrorIsInternal() async throws {
        let tester = try FunctionsTester(Relay())
        let error = await #expect(throws: HttpsError.self) {
            let _: String = try await tester.call("relay", "nothing")
        }
        #expect(error?.code == .internal)
        #expect(error?.message == "INTERNAL")
    }

    @Test func aTestSendsNothing() async throws {
        try await ScriptedServer.run { connection in
            if !(try await connection.request()).isEmpty { Issue.record("a request was sent") }
        } body: { address in
            let tester = try FunctionsTester(Relay())
            let error = await #expect(throws: HttpsError.self) {
                let _: String = try await tester.call("relay", address)
            }
            #expect(error?.code == .internal)
        }
    }
}
