import NIOCore
@testable import RealtimeAPI
import RealtimeModel
import RealtimeTesting
import Sharing
import StrictJSON
import TestSupport
import Testing

/// WebSockets over the real port.
@Suite(.endsHangs) struct WebSocketPortTests {
    @Test func theServerGreetsAndAnswers() async throws {
        try await TestPort.run { port in
            let client = try await port.client()
            let head = try await client.upgrade()
            #expect(head.hasPrefix("HTTP/1.1 101 "))
            #expect(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
            #expect(
                try await client.message().hasPrefix(
                    #"{"t":"c","d":{"t":"h","d":{"ts":1700000000000,"v":"5","h":"h","s":""#))
            try await client.sendFrame("0")
            try await client.sendFrame(#"{"t":"c","d":{"t":"p","d":{}}}"#)
            #expect(try await client.message() == #"{"t":"c","d":{"t":"o","d":{}}}"#)
            try await client.sendFrame("ping", opcode: 9)
            #expect(try await client.frame() == (10, "ping"))
            // Fragments of the WebSocket's own.
            try await client.sendFrame(#"{"t":"c","d":{"#, isLast: false)
            try await client.sendFrame(#""t":"p","d":{}}}"#, opcode: 0)
            #expect(try await client.message() == #"{"t":"c","d":{"t":"o","d":{}}}"#)
            try await client.sendFrame("", opcode: 8)
            #expect(try await client.frame().opcode == 8)
            try await client.waitForEnd()
        }
    }

    @Test(arguments: [
        ("GET /.ws?v=5&ns=n HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        (
            "GET /.ws?v=4&ns=n HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
            400
        ),
        (
            "GET /.ws?v=5&ns=n HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: short\r\nSec-WebSocket-Version: 13\r\n\r\n",
            400
        ),
        ("\u{1}\r\n\r\n", 400),
    ])
    func otherRequestsAreRefused(request: String, status: Int) async throws {
        try await TestPort.run { port in
            let client = try await port.client()
            try await client.send(request)
            #expect(try await client.answer().status == status)
        }
    }

    @Test(arguments: ["n", nil]) func theDatabaseOfARequestWithoutNameIsTheDefault(name: String?) async throws {
        try await TestPort.run {
            $0.databaseNames.fallback = name
        } _: { port in
            let client = try await port.client()
            #expect(try await client.upgrade("v=5").hasPrefix(name == nil ? "HTTP/1.1 400 " : "HTTP/1.1 101 "))
            let polling = try await port.client()
            #expect(try await polling.ask("GET", "/.lp?start=t&cb=7&v=5").status == (name == nil ? 400 : 200))
        }
    }

    @Test func framesBehindTheUpgradeAreRead() async throws {
        try await TestPort.run { port in
            let client = try await port.client()
            let upgrade =
                "GET /.ws?v=5&ns=n HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
            try await client.send(
                Array(upgrade.utf8) + PortClient.frame(Array(#"{"t":"d","d":{"r":1,"a":"s","b":{}}}"#.utf8)))
            _ = try await client.text(through: "\r\n\r\n")
            _ = try await client.message()
            #expect(try await client.message() == #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#)
        }
    }

    @Test(
        arguments: [
            // Frames that aren't the protocol.
            ([0x82, 0x80, 0, 0, 0, 0], 1), ([0x81, 0x02, 0x7B, 0x7D], 1), ([0x80, 0x80, 0, 0, 0, 0], 1),
            ([0x81, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], 1), ([0x83, 0x80, 0, 0, 0, 0], 1),
            ([0x81, 0x80, 0, 0, 0, 0], 1), ([UInt8](repeating: 0xFF, count: 14), 1),
            (PortClient.frame(Array("nonsense".utf8)), 1),
            (PortClient.frame(Array((String(repeating: "[", count: 60_000)).utf8)), 1),
            (PortClient.frame(Array("999999".utf8)) + PortClient.frame([]), 1),
            // Half a surrogate, which no UTF-8 has.
            (
                PortClient.frame(
                    Array(#"{"t":"d","d":{"r":1,"a":"p","b":{"p":"a","d":""#.utf8) + [0xED, 0xA0, 0x80]
                        + Array(#""}}}"#.utf8)), 1
            ),
        ] as [([UInt8], Int)])
    func hostileFramesEndTheConnectionAndNoOther(bytes: [UInt8], count: Int) async throws {
        try await TestPort.run { port in
            let other = try await port.socket().client
            let client = try await port.socket().client
            try await client.send(bytes)
            #expect(try await client.frame().opcode == 8)
            // The server may have been faster.
            try? await client.close()
            #expect(try await other.request(1, "s", "{}").count == 1)
        }
    }

    /// It would be another key or another text, without a word to its client.
    @Test(
        arguments: [
            ("p", #"{"p":"/a","d":"x\ud800"}"#), ("p", #"{"p":"/a","d":{"\ud800":1}}"#),
            ("p", #"{"p":"/a\udc00","d":1}"#), ("m", #"{"p":"/","d":{"b/\ud800":1}}"#),
            ("o", #"{"p":"/a","d":["\ud83d"]}"#), ("q", #"{"p":"/\ud800","h":""}"#), ("g", #"{"p":"/\ud800","q":{}}"#),
        ])
    func halfASurrogateIsRefusedAndTheConnectionGoesOn(action: String, body: String) async throws {
        try await TestPort.run { port in
            let client = try await port.socket().client
            let answer = try await client.request(1, action, body)
            #expect(answer.count == 1)
            #expect(answer[0].contains(#""b":{"s":"failed","d":"Invalid data; a string has half of a surrogate pair"#))
            let next = try await client.request(2, "p", #"{"p":"/a","d":"\ud83d\ude00"}"#)
            #expect(next == [#"{"t":"d","d":{"r":2,"b":{"s":"ok","d":""}}}"#])
            let rest = try await port.client()
            #expect(try await rest.ask("GET", "/.json?ns=n").body == #"{"a":"😀"}"#)
            #expect(try await rest.ask("PUT", "/a.json?ns=n", body: #""\ud800""#).status == 400)
        }
    }

    @Test func aWriteAboveTheBoundIsRefusedByItsName() async throws {
        try await TestPort.run {
            $0.limits.messageBytes = 100_000
        } _: { port in
            let client = try await port.socket().client
            let text = String(repeating: "x", count: 200_000)
            try await client.say(#"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a","d":1}}}"#)
            try await client.say(#"{"t":"d","d":{"r":2,"a":"p","b":{"p":"/a","d":"\#(text)"}}}"#)
            try await client.say(#"{"t":"d","d":{"r":3,"a":"p","b":{"p":"/b","d":1}}}"#)
            let answers = [try await client.message(), try await client.message(), try await client.message()]
            #expect(answers[0].contains(#""r":1,"b":{"s":"ok""#))
            #expect(answers[1].contains(#""r":2,"b":{"s":"write_too_big""#))
            #expect(answers[2].contains(#""r":3,"b":{"s":"ok""#))
        }
    }

    @Test func messagesAboveTheirBoundEndTheConnection() async throws {
        try await TestPort.run {
            $0.limits.messageBytes = 100_000
        } _: { port in
            let client = try await port.socket().client
            try? await client.say(String(repeating: "x", count: 200_000))
            #expect(try await client.frame().opcode == 8)
        }
    }

    @Test func aThousandRequestsAtOnceAreAllAnsweredInOrder() async throws {
        try await TestPort.run {
            $0.limits.waitingRequests = 10
        } _: { port in
            let client = try await port.socket().client
            var bytes: [UInt8] = []
            for number in 1...2_000 {
                bytes += PortClient.frame(
                    Array(#"{"t":"d","d":{"r":\#(number),"a":"p","b":{"p":"/k\#(number)","d":\#(number)}}}"#.utf8))
            }
            try await client.send(bytes)
            for number in 1...2_000 {
                #expect(try await client.message() == #"{"t":"d","d":{"r":\#(number),"b":{"s":"ok","d":""}}}"#)
            }
            #expect(port.service.memory("n").tree.root?.children.count == 2_000)
        }
    }

    @Test func largeValuesGoBothWaysInPieces() async throws {
        try await TestPort.run { port in
            let (a, b) = (try await port.socket().client, try await port.socket().client)
            let text = String(repeating: "é🛒鍵x", count: 40_000)
            #expect(try await a.request(1, "p", #"{"p":"/a","d":"\#(text)"}"#).last?.contains(#""s":"ok""#) == true)
            // Initial data, and a get.
            let listen = try await b.request(1, "q", #"{"p":"/","h":""}"#)
            #expect(listen.first == #"{"t":"d","d":{"a":"d","b":{"p":"","d":{"a":"\#(text)"}}}}"#)
            #expect(listen.last == #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":{}}}}"#)
            #expect(
                try await b.request(2, "g", #"{"p":"/a","q":{}}"#) == [
                    #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":"\#(text)"}}}"#
                ])
            // A push.
            _ = try await a.request(2, "p", #"{"p":"/b","d":"\#(text)"}"#)
            #expect(try await b.message() == #"{"t":"d","d":{"a":"d","b":{"p":"b","d":"\#(text)"}}}"#)
        }
    }

    @Test func ownChangesComeBeforeTheirAnswer() async throws {
        try await TestPort.run { port in
            let client = try await port.socket().client
            _ = try await client.request(0, "p", #"{"p":"/y","d":0}"#)
            _ = try await client.request(1, "q", #"{"p":"/","h":""}"#)
            for number in 2...50 {
                let messages = try await client.request(number, "p", #"{"p":"/x","d":\#(number)}"#)
                #expect(messages.count == 2)
                #expect(messages.first == #"{"t":"d","d":{"a":"d","b":{"p":"x","d":\#(number)}}}"#)
            }
        }
    }

    /// Changes much until the only listen, whose client reads nothing, has ended.
    private func writeUntilTheListenEnds(_ port: TestPort) async throws {
        let writer = try await port.socket().client
        let text = String(repeating: "x", count: 50_000)
        var number = 0
        while port.service.memory("n").listenCount == 1 {
            number += 1
            _ = try await writer.request(number, "p", #"{"p":"/x","d":"\#(number)\#(text)"}"#)
        }
    }

    @Test func aClientThatDoesNotReadItsPushesIsClosed() async throws {
        try await TestPort.run {
            $0.limits.unreadPushBytes = 200_000
        } _: { port in
            let slow = try await port.client(isReading: false)
            try await slow.startReading()
            _ = try await slow.upgrade()
            _ = try await slow.message()
            _ = try await slow.request(1, "q", #"{"p":"/","h":""}"#)
            try await slow.stopReading()
            try await writeUntilTheListenEnds(port)
            try await slow.startReading()
            try await slow.waitForEnd()
        }
    }

    @Test func whatIsRegisteredHappensHoweverTheSocketEnds() async throws {
        try await TestPort.run { port in
            for (index, ends) in [true, false].enumerated() {
                let (client, _) = try await port.socket()
                _ = try await client.request(1, "o", #"{"p":"/x\#(index)","d":1}"#)
                if ends { try await client.sendFrame("", opcode: 8) } else { try await client.close() }
                let watcher = try await port.socket().client
                let seen = try await watcher.request(1, "q", #"{"p":"/x\#(index)","h":""}"#)
                if seen.first?.contains(#""d":null"#) == true {
                    #expect(try await watcher.message() == #"{"t":"d","d":{"a":"d","b":{"p":"x\#(index)","d":1}}}"#)
                }
            }
        }
    }

    @Test func theNextConnectionEndsTheOneItNames() async throws {
        try await TestPort.run { port in
            let (former, session) = try await port.socket()
            _ = try await former.request(1, "o", #"{"p":"/x","d":1}"#)
            let client = try await port.socket("v=5&ns=n&ls=\(session)").client
            #expect(
                try await client.request(1, "g", #"{"p":"/x"}"#) == [#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":1}}}"#])
            try await former.waitForEnd()
            // Not that of another database.
            let (other, name) = try await port.socket()
            _ = try await other.request(1, "o", #"{"p":"/y","d":1}"#)
            _ = try await port.socket("v=5&ns=m&ls=\(name)")
            #expect(try await other.request(2, "g", #"{"p":"/y"}"#).last?.contains(#""d":null"#) == true)
        }
    }

    @Test func aTokenEnds() async throws {
        try await TestPort.run { port in
            let client = try await port.socket().client
            try await client.sendFrame(#"{"t":"d","d":{"r":1,"a":"auth","b":{"cred":"u.0"}}}"#)
            _ = try await client.message()
            #expect(
                try await client.message()
                    == #"{"t":"d","d":{"a":"ac","b":{"s":"expired_token","d":"Auth token is expired"}}}"#)
            #expect(try await client.frame().opcode == 8)
        }
    }

    @Test func anAppsTokenEnds() async throws {
        try await TestPort.run {
            $0.credentials.verifyApp = TestPort.verifyApp
        } _: { port in
            let client = try await port.socket().client
            try await client.sendFrame(#"{"t":"d","d":{"r":1,"a":"appcheck","b":{"token":"0"}}}"#)
            #expect(try await client.message().contains(#""s":"ok""#))
            #expect(
                try await client.message() == #"{"t":"d","d":{"a":"apc","b":{"s":"permission_denied","#
                    + #""d":"The app has no valid App Check token."}}}"#)
            #expect(try await client.frame().opcode == 8)
        }
    }

    /// Android's SDK always sends the header. An app that has none to wait for learns that it is refused.
    @Test func androidsNullIsNoAppToken() async throws {
        try await TestPort.run {
            $0.credentials.verifyApp = TestPort.verifyApp
        } _: { port in
            let client = try await port.client()
            _ = try await client.upgrade(headers: ["X-Firebase-AppCheck: null"])
            _ = try await client.message()
            let answer = try await client.request(1, "q", #"{"p":"/x","h":""}"#)
            #expect(answer.count == 1)
            #expect(answer.last?.contains(#""s":"permission_denied""#) == true)
        }
    }

    @Test func aTokenMayEndAtAnyTime() async throws {
        try await TestPort.run { port in
            let client = try await port.socket().client
            for seconds in [9_300_000_000_000_000, -9_300_000_000_000_000, Int64.max - 1_700_000_000] {
                let answer = try await client.request(1, "auth", #"{"cred":"u.\#(seconds)"}"#)
                #expect(answer.last?.contains(#""s":"ok""#) == true)
                guard seconds > 0 else { return }
            }
        }
    }

    @Test(arguments: [(5, 4_999, 1), (5, 5_000, nil), (4, 9_999, nil), (90_000, 0, 86_400_000), (-9, 0, nil)])
    func timeOfATokenThatIsLeft(end: Int64, now: Int64, milliseconds: Int64?) {
        #expect(TokenTime.left(until: end, now: now) == milliseconds.map { .milliseconds($0) })
        #expect(TokenTime.left(until: .max, now: now) == .milliseconds(86_400_000 - now % 1000))
        #expect(TokenTime.left(until: .min, now: now) == nil)
    }

    /// The users behind one address don't share what the address may hold.
    @Test func whatAUserHasNotReadIsTheUsers() async throws {
        let budget = MemoryBudget(total: 1_600_000)
        try await TestPort.run {
            $0.answers = budget
        } _: { port in
            let slow = try await port.socket().client
            _ = try await slow.request(1, "auth", #"{"cred":"u.999"}"#)
            _ = try await slow.request(2, "q", #"{"p":"/","h":""}"#)
            try await slow.stopReading()
            try await writeUntilTheListenEnds(port)
            // All that haven't signed in may hold half.
            #expect(budget.figures.peak > 800_000)
        }
    }

    @Test func aClientWhoseListensNeedTooMuchMemoryIsClosed() async throws {
        let budget = MemoryBudget(total: 1_000_000)
        try await TestPort.run {
            $0.listenMemory = budget
        } _: { port in
            let greedy = try await port.socket().client
            let text = String(repeating: "z", count: 15_000)
            for number in 1...40 {
                let query = #"{"i":"x","sp":"\#(text)\#(number)"}"#
                // It may be closed already.
                try? await greedy.say(
                    #"{"t":"d","d":{"r":\#(number),"a":"q","b":{"p":"/a","q":\#(query),"t":\#(number),"h":""}}}"#)
            }
            try await greedy.waitForEnd()
            #expect(budget.figures.peak > 200_000)
            #expect(budget.figures.peak <= 375_000)
            while budget.figures.used > 0 { await Task.yield() }
            _ = try await port.socket().client.request(1, "q", #"{"p":"/a","h":""}"#)
            #expect(await port.metricsText().contains("\nfunctions_database_listen_memory_bytes 0\n"))
        }
    }

    /// Its requests wait, so it isn't read: it can't show that it lives.
    @Test func aClientThatTakesNothingIsClosed() async throws {
        try await TestPort.run {
            $0.limits.waitingRequests = 1
        } _: { port in
            let text = String(repeating: "x", count: 8_000_000)
            _ = try await port.socket().client.request(1, "p", #"{"p":"/x","d":"\#(text)"}"#)
            let slow = try await port.client(isReading: false)
            try await slow.startReading()
            _ = try await slow.upgrade()
            _ = try await slow.message()
            try await slow.stopReading()
            try await slow.say(#"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/x","h":""}}}"#)
            while port.service.memory("n").listenCount == 0 { await Task.yield() }
            try await slow.say(#"{"t":"d","d":{"r":2,"a":"g","b":{"p":"/x"}}}"#)
            // What it is sent fills its socket at first.
            var hours: Int64 = 0
            while port.sessionCount > 0 {
                try await port.sweep(after: .hours(hours))
                hours += 1
            }
            // Unless it has noticed already.
            try? await slow.startReading()
            try await slow.waitForEnd()
        }
    }

    @Test func aListenThatFailsEndsTheConnection() async throws {
        try await TestPort.run {
            $0.port.overload = .milliseconds(1)
        } _: { port in
            let client = try await port.socket().client
            _ = try await client.request(1, "q", #"{"p":"/","h":""}"#)
            port.service.memory("n").endListens(.unavailable("later"))
            #expect(try await client.frame().opcode == 8)
        }
    }

    @Test func pagesOfOtherSitesAreNotTheOwner() async throws {
        try await TestPort.run {
            $0.isForeign = { _ in true }
        } _: { port in
            let client = try await port.socket().client
            #expect(
                try await client.request(1, "gauth", #"{"cred":"owner"}"#).last?.contains("permission_denied") == true)
            let rest = try await port.client()
            #expect(try await rest.ask("GET", "/a.json", ["Authorization: Bearer owner"]).status == 401)
        }
    }

    @Test func whatIsRegisteredHappensBeforeThePortHasStopped() async throws {
        var database: InMemoryDatabase?
        try await TestPort.run { port in
            let client = try await port.socket().client
            _ = try await client.request(1, "o", #"{"p":"/x","d":1}"#)
            database = port.service.memory("n")
        }
        #expect(database?.tree.root?.children.count == 1)
    }
}
