import Dispatch
import NIOCore
import NIOHTTP1
import NIOPosix
@testable import RealtimeAPI
import RealtimeModel
import RealtimeTesting
import Sharing
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// REST over the real port: requests → answers.
@Suite(.endsHangs) struct RESTPortTests {
    /// Users read and write below their names; `/open` is open.
    private static let rules = InMemoryRules(
        mayRead: { principal, path, _ in isAllowed(principal, path) },
        mayWrite: { principal, target, _, _ in isAllowed(principal, target.path) },
        isIndexed: { path, index in index.name == "x" })

    private static func isAllowed(_ principal: RealtimePrincipal, _ path: RealtimePath) -> Bool {
        guard let first = path.keys.first?.string else { return false }
        guard first != "open", case .client(let auth?) = principal else { return first == "open" }
        return first == auth.uid
    }

    @Test(
        arguments: [
            (
                "PUT", "/open/a.json", #"{"b":[1,{".value":2,".priority":3}],"c":null}"#, 200,
                #"{"b":[1,{".value":2,".priority":3}]}"#
            ),
            ("PATCH", "/open/a.json", #"{"b/c":1,"d":null}"#, 200, #"{"b/c":1,"d":null}"#),
            ("PUT", "/open/a.json", #"{"0":1,".priority":3}"#, 200, #"{"0":1,".priority":3}"#),
            ("PATCH", "/open/a.json", " null\n", 200, "null"), ("PATCH", "/open/a.json?print=silent", "null", 204, ""),
            ("DELETE", "/open/a.json", nil, 200, "null"), ("GET", "/open/a.json", nil, 200, "null"),
            ("PUT", "/open/a.json?print=silent", "1", 204, ""),
            ("PUT", "/open/a.json", "", 400, "{\n  \"error\" : \"Error: No data supplied.\"\n}\n"),
            (
                "PUT", "/open/a.json", "{", 400,
                "{\n  \"error\" : \"Invalid data; couldn't parse JSON object, array, or value.\"\n}\n"
            ),
            (
                "PATCH", "/open/a.json", "[1]", 400,
                "{\n  \"error\" : \"Invalid data; couldn't parse JSON object. Are you sending a JSON object with valid key names?\"\n}\n"
            ),
            (
                "PUT", "/open/a.json", "{\n \"a.b\":1}", 400,
                "{\n  \"error\" : \"Invalid data; couldn't parse key beginning at 2:2. Key value can't be empty or contain $ # [ ] / or .\"\n}\n"
            ),
            ("PUT", "/secret.json", "1", 401, "{\n  \"error\" : \"Permission denied\"\n}\n"),
            ("GET", "/secret.json?auth=x", nil, 401, "{\n  \"error\" : \"Could not parse auth token.\"\n}\n"),
            ("GET", "/u.json?auth=u.9", nil, 200, "null"),
            ("GET", "/v.json?auth=u.9", nil, 401, "{\n  \"error\" : \"Permission denied\"\n}\n"),
            // In a URL it isn't the owner.
            ("GET", "/u.json?access_token=owner", nil, 401, "{\n  \"error\" : \"Permission denied\"\n}\n"),
            ("GET", "/u.json?auth_variable_override=null", nil, 401, "{\n  \"error\" : \"Permission denied\"\n}\n"),
            ("PUT", "/open/a.json?disableTriggers=true", "1", 401, "{\n  \"error\" : \"Permission denied\"\n}\n"),
            ("GET", "/.settings/rules.json", nil, 401, "{\n  \"error\" : \"Permission denied\"\n}\n"),
            ("GET", "/open", nil, 404, "append .json to your request URI to use the REST API."),
            (
                "GET", "/open/a.json?orderBy=%22y%22", nil, 400,
                "{\n  \"error\" : \"Index not defined, add \\\".indexOn\\\": \\\"y\\\", for path \\\"/open/a\\\", to the rules\"\n}\n"
            ),
            // Before that, the rules.
            ("GET", "/secret.json?orderBy=%22y%22", nil, 401, "{\n  \"error\" : \"Permission denied\"\n}\n"),
        ] as [(String, String, String?, Int, String)])
    func requests(method: String, uri: String, body: String?, status: Int, expected: String) async throws {
        try await TestPort.run(rules: Self.rules) { port in
            let client = try await port.client()
            let answer = try await client.ask(method, uri, body: body)
            #expect(answer.status == status)
            #expect(answer.body == expected)
            #expect(answer.header("Access-Control-Allow-Origin") == "*")
            // The connection goes on.
            #expect(try await client.ask("GET", "/open/zzz.json").body == "null")
        }
    }

    @Test func aQueryThatFindsNoneOfTheChildrenIsAnEmptyObject() async throws {
        try await TestPort.run(rules: Self.rules) { port in
            let client = try await port.client()
            #expect(try await client.ask("PUT", "/open/a.json", body: #"{"b":{"x":1}}"#).status == 200)
            #expect(try await client.ask("GET", "/open/a.json?orderBy=%22x%22&startAt=2").body == "{}")
            #expect(try await client.ask("GET", "/open/zzz.json?orderBy=%22x%22&startAt=2").body == "null")
        }
    }

    @Test(arguments: [false, true]) func whatIsNotHTTPIsRefused(isFirst: Bool) async throws {
        try await TestPort.run { port in
            let client = try await port.client()
            if !isFirst { #expect(try await client.ask("GET", "/a.json").status == 200) }
            try await client.send("?\r\n\r\n")
            let answer = try await client.answer()
            #expect(answer.status == 400)
            #expect(answer.body == "{\n  \"error\" : \"The request is not valid HTTP.\"\n}\n")
            try await client.waitForEnd()
        }
    }

    @Test func preflightsAllowWhatIsAsked() async throws {
        try await TestPort.run { port in
            let answer = try await port.client().ask(
                "OPTIONS", "/a.json",
                [
                    "Origin: https://app.example", "Access-Control-Request-Method: PUT",
                    "Access-Control-Request-Headers: a, b",
                ])
            #expect(answer.status == 204)
            #expect(answer.header("Access-Control-Allow-Origin") == "https://app.example")
            #expect(answer.header("Access-Control-Allow-Headers") == "a, b")
            #expect(answer.header("Access-Control-Allow-Methods")?.contains("PATCH") == true)
        }
    }

    @Test func conditionsAndTheirTags() async throws {
        try await TestPort.run { port in
            let client = try await port.client()
            let first = try await client.ask("PUT", "/a.json", ["if-match: null_etag"], body: "1")
            let tag = try #require(first.header("ETag"))
            #expect(try await client.ask("GET", "/a.json", ["X-Firebase-ETag: true"]).header("ETag") == tag)
            let stale = try await client.ask("PUT", "/a.json", ["if-match: null_etag"], body: "2")
            #expect((stale.status, stale.body, stale.header("ETag")) == (412, "1", tag))
            let same = try await client.ask("GET", "/a.json", ["if-none-match: \(tag)"])
            #expect((same.status, same.body) == (304, ""))
            for (method, body) in [("PATCH", #"{"b":2}"#), ("POST", "2")] {
                let refused = try await client.ask(method, "/a.json", ["if-match: \(tag)"], body: body)
                #expect(refused.status == 400)
                #expect(
                    refused.body
                        == "{\n  \"error\" : \"The If-Match header is only supported with PUT and DELETE.\"\n}\n")
            }
            #expect(try await client.ask("GET", "/a.json").body == "1")
            #expect(try await client.ask("DELETE", "/a.json", ["if-match: \(tag)"]).header("ETag") == "null_etag")
        }
    }

    /// The admin SDK for Python reads priorities so.
    @Test func prioritiesAreReadAndWrittenAlone() async throws {
        try await TestPort.run { port in
            let client = try await port.client()
            func ask(_ method: String, _ headers: [String] = [], body: String? = nil) async throws -> PortClient.Answer
            {
                try await client.ask(method, "/a/.priority.json", headers, body: body)
            }
            #expect(try await ask("GET").body == "null")
            #expect(try await client.ask("PUT", "/a.json", body: #"{"b":1}"#).status == 200)
            #expect(try await ask("PUT", body: "5").body == "5")
            let answer = try await ask("GET", ["X-Firebase-ETag: true"])
            #expect(answer.body == "5")
            let tag = try #require(answer.header("ETag"))
            #expect(try await ask("PUT", ["if-match: \(tag)"], body: "6").status == 200)
            let stale = try await ask("PUT", ["if-match: \(tag)"], body: "7")
            #expect((stale.status, stale.body) == (412, "6"))
            #expect(try await client.ask("GET", "/a.json").body == #"{"b":1}"#)
        }
    }

    @Test func printingDownloadsAndCallbacks() async throws {
        try await TestPort.run { port in
            let client = try await port.client()
            _ = try await client.ask("PUT", "/a.json", body: #"{"b":[1,2]}"#)
            #expect(try await client.ask("GET", "/a.json?print=pretty").body == "{\n  \"b\" : [\n    1,\n    2\n  ]\n}")
            #expect(try await client.ask("GET", "/a.json?print=silent").status == 204)
            #expect(
                try await client.ask("GET", "/a.json?download=a%22%0d%0ab.json").header("Content-Disposition")
                    == "attachment; filename=\"ab.json\"")
            let script = try await client.ask("GET", "/a.json?callback=f.g")
            #expect(script.body == #"f.g({"b":[1,2]});"#)
            #expect(script.header("Content-Type")?.hasPrefix("application/javascript") == true)
            #expect(try await client.ask("GET", "/.json?shallow=true").body == #"{"a":true}"#)
            let head = "HEAD /a.json HTTP/1.1\r\nHost: h\r\n\r\nGET /a/b/0.json HTTP/1.1\r\nHost: h\r\n\r\n"
            try await client.send(head)
            #expect(try await client.text(through: "\r\n\r\n").contains("Content-Length: 11"))
            #expect(try await client.answer().body == "1")
        }
    }

    @Test func largeValuesAreStreamed() async throws {
        try await TestPort.run { port in
            let client = try await port.client()
            let text = String(repeating: "é🛒x", count: 100_000)
            let put = try await client.ask("PUT", "/a.json", body: #"{"b":"\#(text)"}"#)
            #expect(put.status == 200)
            let get = try await client.ask("GET", "/a.json")
            #expect(get.header("Transfer-Encoding") == "chunked")
            #expect(get.body == #"{"b":"\#(text)"}"#)
            #expect(
                try await client.ask("GET", "/a.json?print=pretty&callback=f").body == "f({\n  \"b\" : \"\(text)\"\n});"
            )
            // Its answer ends with the head: whatever follows would be the beginning of the next one.
            let head = "HEAD /a.json HTTP/1.1\r\nHost: h\r\n\r\n"
            try await client.send(head + "GET /c.json HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.text(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
            let next = try await client.answer()
            #expect((next.status, next.body) == (200, "null"))
        }
    }

    @Test func bodiesAreBounded() async throws {
        try await TestPort.run {
            $0.port.bodyBytes = 1_000
        } _: { port in
            let client = try await port.client()
            let answer = try await client.ask("PUT", "/a.json", body: "\"\(String(repeating: "x", count: 2_000))\"")
            #expect(answer.status == 400)
            #expect(answer.body.contains("Data to write exceeds the maximum size"))
            try await client.waitForEnd()
            let chunked = try await port.client()
            try await chunked.send("PUT /a.json HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await chunked.send("7d0\r\n\(String(repeating: "x", count: 2_000))\r\n0\r\n\r\n")
            #expect(try await chunked.answer().status == 400)
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        try await TestPort.run { port in
            let client = try await port.client()
            let request = "PUT /a.json HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n"
            try await client.send((1...9).map { request + "\($0)" }.joined())
            for number in 1...9 { #expect(try await client.answer().body == "\(number)") }
        }
    }

    @Test func oldClientsAreAnswered() async throws {
        try await TestPort.run { port in
            let client = try await port.client()
            try await client.send("GET /a.json HTTP/1.0\r\n\r\n")
            let answer = try await client.answer()
            #expect(answer.body == "null")
            try await client.waitForEnd()
        }
    }

    @Test(arguments: [("1.0", "HTTP/1.0 200"), ("1.1", "HTTP/1.1 100")])
    func anAnswerBeforeTheAnswerIsForNewClients(version: String, first: String) async throws {
        try await TestPort.run { port in
            let client = try await port.client()
            try await client.send(
                "PUT /a.json HTTP/\(version)\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n1")
            #expect(try await client.text(through: "\r\n").hasPrefix(first))
        }
    }

    @Test func refusedHeadsReachNoDatabase() async throws {
        try await TestPort.run {
            $0.refusal = { _ in .init(status: .misdirectedRequest, message: "not here") }
        } _: { port in
            #expect(try await port.client().ask("GET", "/a.json").body == "{\n  \"error\" : \"not here\"\n}\n")
            let client = try await port.client()
            #expect(try await client.upgrade().hasPrefix("HTTP/1.1 421"))
        }
    }

    // MARK: Streams

    private func stream(_ port: TestPort, _ uri: String) async throws -> PortClient {
        let client = try await port.client()
        try await client.send("GET \(uri) HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n")
        return client
    }

    /// The next event, without the chunk around it.
    private func event(_ client: PortClient) async throws -> String {
        _ = try await client.text(through: "event: ")
        return String(try await client.text(through: "\n\n").dropLast(2))
    }

    @Test func streamsBeginWithTheValueAndHaveItsChanges() async throws {
        try await TestPort.run { port in
            let writer = try await port.client()
            _ = try await writer.ask("PUT", "/a.json", body: #"{"b":{"c":1,"x":0},"d":{".value":2,".priority":3}}"#)
            let stream = try await stream(port, "/a.json")
            #expect(try await stream.text(through: "\r\n\r\n").contains("text/event-stream"))
            #expect(
                try await event(stream)
                    == #"put\ndata: {"path":"/","data":{"b":{"c":1,"x":0},"d":2}}"#.replacing(#"\n"#, with: "\n"))
            _ = try await writer.ask("PUT", "/a/b/c.json", body: "5")
            #expect(try await event(stream) == "put\ndata: {\"path\":\"/b/c\",\"data\":5}")
            // Priorities aren't seen.
            _ = try await writer.ask("PUT", "/a/b/.priority.json", body: "4")
            _ = try await writer.ask("PATCH", "/a.json", body: #"{"b/c":6,"e":7}"#)
            let patch = try await event(stream)
            #expect(patch == "patch\ndata: {\"path\":\"/\",\"data\":{\"b/c\":6,\"e\":7}}")
            // From the place of the update on, the names are those of children.
            _ = try await writer.ask("PATCH", "/a/b.json", body: #"{"c":8,"x":9}"#)
            #expect(try await event(stream) == "patch\ndata: {\"path\":\"/b\",\"data\":{\"c\":8,\"x\":9}}")
            _ = try await writer.ask("DELETE", "/.json")
            #expect(try await event(stream) == "put\ndata: {\"path\":\"/\",\"data\":null}")
        }
    }

    @Test func streamsOfLargeValues() async throws {
        try await TestPort.run { port in
            let text = String(repeating: "x", count: 100_000)
            _ = try await port.client().ask("PUT", "/a.json", body: "\"\(text)\"")
            let stream = try await stream(port, "/a.json")
            _ = try await stream.text(through: "event: put")
            let event = try await stream.text(through: "\n\n")
            // Chunks' lengths are in between.
            #expect(event.filter { $0 == "x" }.count == 100_000)
            #expect(event.hasSuffix("}\n\n"))
        }
    }

    @Test func streamsEndWithTheirToken() async throws {
        try await TestPort.run(rules: Self.rules) { port in
            let stream = try await stream(port, "/u.json?auth=u.0")
            #expect(try await event(stream).hasPrefix("put"))
            #expect(try await event(stream) == "auth_revoked\ndata: credential is no longer valid")
        }
    }

    /// Although nothing is sent, and nothing else looks at the token for a day.
    @Test func whatAServerHasOpenEndsOnceItsKeyIsRevoked() async throws {
        let isValid = OpenFlag()
        try await TestPort.run { parts in
            parts.credentials = RealtimeCredentials(isDevelopment: false) { _, completion in
                completion(.success(.init(.admin, serverKey: "key")))
            }
            parts.credentials.isRevoked = { $0 == "key" && !isValid.isSet }
        } _: { port in
            let stream = try await stream(port, "/a.json?access_token=T")
            #expect(try await event(stream).hasPrefix("put"))
            let socket = try await port.socket().client
            #expect(try await socket.request(1, "gauth", #"{"cred":"T"}"#).last?.contains("ok") == true)
            port.checkTokens()
            #expect(try await socket.request(2, "g", #"{"p":"a"}"#).last?.contains("ok") == true)
            isValid.clear()
            port.checkTokens()
            #expect(try await event(stream) == "auth_revoked\ndata: credential is no longer valid")
            #expect(try await socket.message().contains("\"ac\""))
            #expect(try await socket.frame().opcode == 8)
        }
    }

    @Test func streamsEndWithTheirAppsToken() async throws {
        try await TestPort.run {
            $0.credentials.verifyApp = TestPort.verifyApp
        } _: { port in
            let client = try await port.client()
            try await client.send(
                "GET /a.json HTTP/1.1\r\nHost: h\r\nX-Firebase-AppCheck: 0\r\nAccept: text/event-stream\r\n\r\n")
            #expect(try await event(client).hasPrefix("put"))
            #expect(try await event(client) == "auth_revoked\ndata: credential is no longer valid")
            #expect(try await stream(port, "/a.json").answer().status == 401)
        }
    }

    @Test func streamsEndWhenTheRulesChange() async throws {
        let isOpen = OpenFlag()
        let rules = InMemoryRules(
            mayRead: { _, _, _ in isOpen.isSet }, mayWrite: { _, _, _, _ in true }, isIndexed: { _, _ in true })
        try await TestPort.run(rules: rules) { port in
            let stream = try await stream(port, "/a.json")
            #expect(try await event(stream).hasPrefix("put"))
            isOpen.clear()
            let upload = try await port.client().ask(
                "PUT", "/.settings/rules.json", ["Authorization: Bearer owner"], body: "{}")
            #expect(upload.body == #"{"status":"ok"}"#)
            #expect(try await event(stream) == "cancel\ndata: null")
            #expect(try await self.stream(port, "/a.json").answer().status == 401)
        }
    }

    /// Compiling a large file takes long, for which the loop's other connections would wait.
    @Test func rulesAreTakenOverBesideTheLoops() async throws {
        let wasOnLoop = Mutex<[Bool]>([])
        let rules = InMemoryRules(
            mayRead: { _, _, _ in
                let isOnLoop = MultiThreadedEventLoopGroup.currentEventLoop != nil
                wasOnLoop.withLock { $0.append(isOnLoop) }
                return true
            }, mayWrite: { _, _, _, _ in true }, isIndexed: { _, _ in true })
        try await TestPort.run(rules: rules) { port in
            let stream = try await stream(port, "/a.json")
            #expect(try await event(stream).hasPrefix("put"))
            wasOnLoop.withLock { $0 = [] }
            let upload = try await port.client().ask(
                "PUT", "/.settings/rules.json", ["Authorization: Bearer owner"], body: "{}")
            #expect(upload.body == #"{"status":"ok"}"#)
            #expect(wasOnLoop.withLock { $0 } == [false])
        }
    }

    /// Writing its text takes long, for which the loop's other connections would wait.
    @Test func aLargeWriteIsAnsweredBesideTheLoops() async throws {
        let longWork = Mutex<FairWork?>(nil)
        let (gate, isBusy) = (DispatchSemaphore(value: 0), OpenFlag())
        let rules = InMemoryRules(
            mayRead: { _, _, _ in true },
            mayWrite: { _, _, _, _ in
                // The body was read. From now on other long work comes first, once.
                let work = longWork.withLock { work -> FairWork? in
                    defer { work = nil }
                    return work
                }
                work?.add(of: 7) { gate.wait() }
                return true
            }, isIndexed: { _, _ in true })
        try await TestPort.run(rules: rules, { parts in longWork.withLock { $0 = parts.longWork } }) { port in
            let (client, other) = (try await port.client(), try await port.client())
            let body = #"{"b":"\#(String(repeating: "x", count: 100_000))"}"#
            let patch = Task {
                let answer = try await client.ask("PATCH", "/a.json", body: body)
                return (answer.body, wasEarly: isBusy.isSet)
            }
            let (database, path) = (port.service.memory("n"), try RealtimePath("a"))
            while database.tree[path] == nil {
                #expect(try await other.ask("GET", "/c.json").status == 200)
            }
            for _ in 0..<20 { #expect(try await other.ask("GET", "/c.json").status == 200) }
            isBusy.clear()
            gate.signal()
            let answer = try await patch.value
            #expect(answer.0 == body)
            #expect(!answer.wasEarly)
        }
    }

    @Test func streamsThatAreRefusedDoNotCount() async throws {
        try await TestPort.run(rules: Self.rules) { port in
            let client = try await port.client()
            for _ in 0..<2 {
                let refused = try await client.ask("GET", "/secret.json", ["Accept: text/event-stream"])
                #expect(refused.status == 401)
                #expect(await port.metricsText().contains("\nfunctions_database_listens 0\n"))
            }
        }
    }

    @Test func streamsThatFailEndWithoutAnEvent() async throws {
        try await TestPort.run { port in
            let stream = try await stream(port, "/a.json")
            #expect(try await event(stream).hasPrefix("put"))
            port.service.memory("n").endListens(.unavailable("later"))
            // The last chunk.
            #expect(try await stream.text(through: "0\r\n\r\n") == "\r\n0\r\n\r\n")
        }
    }

    @Test func whatStreamsHoldIsBounded() async throws {
        let budget = MemoryBudget(total: 800_000)
        try await TestPort.run {
            $0.answers = budget
            $0.limits.unreadPushBytes = 1 << 30
        } _: { port in
            let slow = try await port.client(isReading: false)
            try await slow.send("GET /.json HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n")
            while port.service.memory("n").listenCount == 0 { await Task.yield() }
            let writer = try await port.client()
            let text = String(repeating: "x", count: 50_000)
            var number = 0
            while port.service.memory("n").listenCount == 1, number < 1_000 {
                number += 1
                _ = try await writer.ask("PUT", "/x.json?print=silent", body: "\"\(number)\(text)\"")
            }
            #expect(port.service.memory("n").listenCount == 0)
            while budget.figures.used > 0 {
                try Task.checkCancellation()
                await Task.yield()
            }
            #expect(budget.figures.peak > 100_000)
        }
    }

    @Test func aTokenMayEndAtAnyTime() async throws {
        try await TestPort.run { port in
            let stream = try await stream(port, "/u.json?auth=u.9300000000000000")
            #expect(try await event(stream).hasPrefix("put"))
            _ = try await port.client().ask("PUT", "/u.json", body: "1")
            #expect(try await event(stream).hasPrefix("put"))
        }
    }

    @Test func anAnswerThatIsTakenSlowlyIsSentWhole() async throws {
        try await TestPort.run { port in
            let slow = try await port.client(isReading: false)
            let text = String(repeating: "x", count: 8_000_000)
            let head = "PUT /a.json HTTP/1.1\r\nHost: h\r\nContent-Length: \(text.utf8.count + 2)\r\n\r\n"
            try await slow.send(head + "\"\(text)\"")
            // The answer's head comes once its end is handed over too.
            _ = try await slow.readSome()
            try await port.sweep(after: .zero)
            // More than the system keeps for the connection.
            while try await slow.readSome() < 5_000_000 {}
            try await port.sweep(after: .hours(70))
            try await port.sweep(after: .hours(100))
            try await slow.startReading()
            #expect(try await slow.answer().body.utf8.count == text.utf8.count + 2)
            // It is idle now.
            try await port.sweep(after: .hours(101))
            try await port.sweep(after: .hours(300))
            try await slow.waitForEnd()
        }
    }

    @Test func streamsShowThatTheyLive() async throws {
        try await TestPort.run {
            $0.port.keepAlive = .milliseconds(1)
        } _: { port in
            let stream = try await stream(port, "/a.json")
            #expect(try await event(stream).hasPrefix("put"))
            #expect(try await event(stream) == "keep-alive\ndata: null")
        }
    }

    // MARK: Settings

    @Test func settingsAndDatabases() async throws {
        try await TestPort.run { port in
            let client = try await port.client()
            let owner = ["Authorization: Bearer owner"]
            let broken = try await client.ask("PUT", "/.settings/rules.json", owner, body: "x")
            #expect((broken.status, broken.body) == (400, "{\n  \"error\" : \"1:1: Rules are an object.\\n\"\n}\n"))
            #expect(try await client.ask("PUT", "/.settings/rules.json?dryRun=true", owner, body: "{ }").status == 200)
            #expect(try await client.ask("GET", "/.settings/rules.json", owner).body == "{}")
            // Node's firebase-admin sends its access token to an emulator, too.
            let google = ["Authorization: Bearer ya29.c.opaque"]
            #expect(try await client.ask("GET", "/.settings/rules.json", google).body == "{}")
            _ = try await client.ask("PUT", "/.settings/rules.json", owner, body: "{ }")
            #expect(try await client.ask("GET", "/.settings/rules.json", owner).body == "{ }")
            #expect(try await client.ask("GET", "/.settings/none.json", owner).status == 404)
            _ = try await client.ask("GET", "/.json?ns=m")
            #expect(
                try await client.ask("GET", "/.inspect/databases.json", owner).body == #"[{"name":"m"},{"name":"n"}]"#)
        }
    }
}
