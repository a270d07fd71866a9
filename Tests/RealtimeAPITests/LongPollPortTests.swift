import NIOCore
import NIOHTTP1
@testable import RealtimeAPI
import RealtimeModel
import RealtimeTesting
import Sharing
import StrictJSON
import TestSupport
import Testing
import TextFormats

/// Long polling over the real port, and the upgrade.
@Suite(.endsHangs) struct LongPollPortTests {
    private func begin(_ port: TestPort) async throws -> (client: PortClient, id: String, password: String) {
        let client = try await port.client()
        let script = try await client.ask("GET", "/.lp?start=t&ser=1&cb=7&v=5&ns=n").body
        let words = script.split(separator: "\"")
        #expect(words.count > 7 && words[3] == "start")
        return (client, String(words[5]), String(words[7]))
    }

    /// The same with where the session's requests go.
    private func beginPolling(_ port: TestPort) async throws -> (client: PortClient, base: String, id: String) {
        let (client, id, password) = try await begin(port)
        return (client, "/.lp?ns=n&id=\(id)&pw=\(password)&ser=1", id)
    }

    private func poll(_ number: Int, _ message: String) -> String {
        let data = Base64.encode(Array(message.utf8)).replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: ".")
        return "&seg0=\(number)&ts0=1&d0=\(data)"
    }

    @Test func messagesGoBothWays() async throws {
        try await TestPort.run { port in
            let (client, id, password) = try await begin(port)
            let base = "/.lp?ns=n&id=\(id)&pw=\(password)&ser=1"
            let answer = try await client.ask(
                "GET", base + poll(0, #"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/","h":""}}}"#))
            #expect(answer.header("Content-Type") == "application/javascript; charset=utf-8")
            let data = #"{"t":"d","d":{"a":"d","b":{"p":"","d":null}}}"#
            let ok = #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":{}}}}"#
            var seen = answer.body
            if !seen.contains(ok) { seen += try await client.ask("GET", base).body }
            #expect(seen.contains(data) && seen.contains(ok))
            // A held poll is answered by a push.
            let writer = try await port.socket().client
            _ = try await writer.request(1, "p", #"{"p":"/y","d":1}"#)
            seen = ""
            while !seen.contains(#""y":1"#) { seen = try await client.ask("GET", base).body }
            try await client.send("GET \(base) HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = try await writer.request(2, "p", #"{"p":"/x","d":1}"#)
            #expect(try await client.answer().body.contains(#"{"t":"d","d":{"a":"d","b":{"p":"x","d":1}}}"#))
            #expect(try await client.ask("GET", "/.lp?dframe=t&id=\(id)&pw=\(password)").status == 200)
            #expect(try await client.ask("GET", "/.lp?ns=n&id=\(id)&pw=wrong&ser=1").status == 403)
            #expect(try await client.ask("GET", "/.lp?ns=n&id=none&pw=wrong&ser=1").status == 403)
        }
    }

    @Test(arguments: [true, false]) func theEndOfASessionIsNoticed(leavesPage: Bool) async throws {
        try await TestPort.run {
            $0.port.hold = .milliseconds(1)
            if !leavesPage { $0.port.pollSilence = .milliseconds(20) }
        } _: { port in
            let register = poll(0, #"{"t":"d","d":{"r":1,"a":"o","b":{"p":"/gone","d":true}}}"#)
            while true {
                let (client, id, password) = try await begin(port)
                let answer = try await client.ask("GET", "/.lp?ns=n&id=\(id)&pw=\(password)&ser=1" + register)
                // On a slow machine the session has ended before its first poll.
                guard answer.status == 200, !answer.body.contains("close") else { continue }
                if leavesPage {
                    #expect(try await client.ask("GET", "/.lp?ns=n&id=\(id)&pw=wrong&disconn=t").status == 403)
                    #expect(try await client.ask("GET", "/.lp?ns=n&id=\(id)&pw=\(password)&disconn=t").status == 200)
                }
                break
            }
            let watcher = try await port.socket().client
            let seen = try await watcher.request(1, "q", #"{"p":"/gone","h":""}"#)
            if seen.first?.contains("null") == true { #expect(try await watcher.message().contains(#""d":true"#)) }
        }
    }

    @Test func aWebSocketTakesOver() async throws {
        try await TestPort.run { port in
            let (client, base, id) = try await beginPolling(port)
            let socket = try await port.client()
            _ = try await socket.upgrade("v=5&ns=n&s=\(id)")
            #expect(try await socket.message() == #"{"t":"c","d":{"t":"a","d":{}}}"#)
            for frame in [#"{"t":"c","d":{"t":"p","d":{}}}"#, #"{"t":"c","d":{"t":"a","d":{}}}"#] {
                try await socket.sendFrame(frame)
                // After the answer, what was sent before is known to have come.
                if frame.contains(#""a""#) { try await socket.sendFrame(#"{"t":"c","d":{"t":"p","d":{}}}"#) }
                #expect(try await socket.message() == #"{"t":"c","d":{"t":"o","d":{}}}"#)
            }
            // This one overtakes the last message by poll.
            try await socket.sendFrame(#"{"t":"d","d":{"r":2,"a":"g","b":{"p":"/x"}}}"#)
            try await client.send(
                "GET \(base)&seg0=0&ts0=1&d0=\(Base64.encode(Array(#"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/x","d":1}}}"#.utf8)).replacing("=", with: "."))"
                    + "&seg1=1&ts1=1&d1=\(Base64.encode(Array(#"{"t":"c","d":{"t":"n","d":{}}}"#.utf8)).replacing("=", with: ".")) HTTP/1.1\r\nHost: h\r\n\r\n"
            )
            #expect(try await client.answer().body.contains(#"{"t":"c","d":{"t":"n","d":{}}}"#))
            #expect(try await socket.message() == #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#)
            #expect(try await socket.message() == #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":1}}}"#)
            #expect(try await client.ask("GET", base).body.contains(#"("close""#))
            #expect(try await socket.request(3, "s", "{}").count == 1)
        }
    }

    @Test func theLastMessageByPollIsAnsweredByTheWebSocket() async throws {
        try await TestPort.run { port in
            let (client, base, id) = try await beginPolling(port)
            let socket = try await port.client()
            _ = try await socket.upgrade("v=5&ns=n&s=\(id)")
            _ = try await socket.message()
            try await socket.sendFrame(#"{"t":"c","d":{"t":"a","d":{}}}"#)
            try await socket.sendFrame(#"{"t":"c","d":{"t":"p","d":{}}}"#)
            _ = try await socket.message()
            let end = poll(1, #"{"t":"c","d":{"t":"n","d":{}}}"#).replacing("seg0", with: "seg1")
                .replacing("ts0", with: "ts1").replacing("d0", with: "d1")
            let request = poll(0, #"{"t":"d","d":{"r":1,"a":"s","b":{}}}"#) + end
            let last = try await client.ask("GET", base + request)
            #expect(last.body.contains(#"[{"t":"c","d":{"t":"n","d":{}}}]"#))
            #expect(try await socket.message() == #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#)
        }
    }

    private static let register = #"{"t":"d","d":{"r":1,"a":"o","b":{"p":"/gone","d":true}}}"#

    @Test func aTokenThatEndsBetweenPollsIsSentWithTheNext() async throws {
        try await TestPort.run { port in
            let (client, base, _) = try await beginPolling(port)
            // The answer to this poll may be all but the end of the token.
            var seen = try await client.ask(
                "GET", base + poll(0, #"{"t":"d","d":{"r":1,"a":"auth","b":{"cred":"u.0"}}}"#)
            ).body
            while port.sessionCount > 0 { await Task.yield() }
            while !seen.contains("close") {
                let answer = try await client.ask("GET", base)
                try #require(answer.status == 200)
                seen += answer.body
            }
            #expect(seen.contains(#""r":1,"b":{"s":"ok""#))
            #expect(seen.contains(#""a":"ac""#))
        }
    }

    @Test func anEndedSessionIsForgottenInTime() async throws {
        try await TestPort.run {
            $0.port.pollSilence = .milliseconds(20)
        } _: { port in
            let (client, base, _) = try await beginPolling(port)
            _ = try await client.ask("GET", base + poll(0, #"{"t":"d","d":{"r":1,"a":"auth","b":{"cred":"u.0"}}}"#))
            while try await client.ask("GET", base).status == 200 { await Task.yield() }
        }
    }

    /// Browsers load scripts without an `Origin`: any page could otherwise ask as the developer.
    @Test(arguments: [
        ("Referer: http://localhost:3000/shop/", true), ("Referer: http://localhost:3000", true),
        ("Origin: http://localhost:3000", true), ("Referer: https://evil.test/http://localhost:3000/", false),
        ("Accept: */*", false),
    ])
    func theScriptOfAPageOfAnotherSiteIsNotTheOwner(header: String, isOwner: Bool) async throws {
        try await TestPort.run {
            $0.isForeign = { head in head.headers["Origin"] != ["http://localhost:3000"] }
        } _: { port in
            let client = try await port.client()
            let script = try await client.ask("GET", "/.lp?start=t&ser=1&cb=7&v=5&ns=n", [header]).body
            let words = script.split(separator: "\"")
            try #require(words.count > 7)
            let base = "/.lp?ns=n&id=\(words[5])&pw=\(words[7])&ser=1"
            var seen = try await client.ask(
                "GET", base + poll(0, #"{"t":"d","d":{"r":1,"a":"gauth","b":{"cred":"owner"}}}"#)
            ).body
            while !seen.contains(#""r":1"#) { seen += try await client.ask("GET", base).body }
            #expect(seen.contains("permission_denied") == !isOwner)
        }
    }

    @Test func stoppingEndsSessions() async throws {
        try await TestPort.run { port in
            let (client, base, _) = try await beginPolling(port)
            let answer = try await client.ask("GET", base + poll(0, Self.register))
            #expect(answer.body.contains(#""s":"ok""#))
            try await client.send("GET \(base) HTTP/1.1\r\nHost: h\r\n\r\n")
            // It waits for the sessions only for its grace.
            _ = try await port.stop()
            while port.sessionCount > 0 {
                try Task.checkCancellation()
                await Task.yield()
            }
            #expect(port.service.memory("n").tree.root?.children.count == 1)
        }
    }

    @Test func sessionsAreBoundedLikeConnections() async throws {
        try await TestPort.run {
            $0.port.pollingSessions = 6
        } _: { port in
            let client = try await port.client()
            for cb in 1...3 { #expect(try await client.ask("GET", "/.lp?start=t&cb=\(cb)&v=5&ns=n").status == 200) }
            #expect(try await client.ask("GET", "/.lp?start=t&cb=4&v=5&ns=n").status == 503)
        }
    }

    @Test func piecesThatCanNotBeJoinedAreHeldInTheirBudget() async throws {
        let budget = MemoryBudget(total: 1_000_000)
        try await TestPort.run {
            $0.bodies = budget
            $0.port.hold = .milliseconds(1)
        } _: { port in
            let (client, base, _) = try await beginPolling(port)
            let data = String(repeating: "a", count: 60_000)
            var number = 1
            while number < 100 {
                let answer = try await client.ask("GET", "\(base)&seg0=\(number)&ts0=1&d0=\(data)")
                if answer.body.contains("close") { break }
                number += 1
            }
            #expect((5..<10).contains(number))
            while budget.figures.used > 0 { await Task.yield() }
        }
    }

    @Test func whatAClientHasNotFetchedIsHeldInItsBudget() async throws {
        let budget = MemoryBudget(total: 1_000_000)
        try await TestPort.run {
            $0.answers = budget
            // A busy machine may let the next poll wait.
            $0.port.pollSilence = .minutes(30)
        } _: { port in
            let (client, base, _) = try await beginPolling(port)
            let text = String(repeating: "x", count: 900_000)
            _ = try await port.socket().client.request(1, "p", #"{"p":"/x","d":"\#(text)"}"#)
            let read = try await client.ask("GET", base + poll(0, #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"/x"}}}"#))
            #expect(read.body.contains("close"))
            #expect(budget.figures.peak > 100_000)
            while budget.figures.used > 0 { await Task.yield() }
        }
    }

    @Test func largeMessagesKeepTheirOrder() async throws {
        try await TestPort.run {
            $0.port.hold = .milliseconds(1)
        } _: { port in
            let (client, base, _) = try await beginPolling(port)
            let text = String(repeating: "x", count: 200_000)
            let data = Base64.encode(Array(#"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/x","d":"\#(text)"}}}"#.utf8))
                .replacing("=", with: ".").replacing("+", with: "-").replacing("/", with: "_")
            let pieces = stride(from: 0, to: data.utf8.count, by: 50_000).map { start in
                String(data.dropFirst(start).prefix(50_000))
            }
            var seen = ""
            for (number, piece) in pieces.enumerated() {
                let next = number == pieces.count - 1 ? 1 : 0
                var request = base + "&seg0=\(number)&ts0=\(pieces.count)&d0=\(piece)"
                if next == 1 {
                    let read = #"{"t":"d","d":{"r":2,"a":"g","b":{"p":"/x"}}}"#
                    request += poll(number + 1, read).replacing("seg0", with: "seg1").replacing("ts0", with: "ts1")
                        .replacing("d0", with: "d1")
                }
                seen += try await client.ask("GET", request).body
            }
            while !seen.contains(#""r":2"#) { seen += try await client.ask("GET", base).body }
            #expect(seen.contains(#""r":1,"b":{"s":"ok""#))
            #expect(seen.contains(text))
        }
    }

    @Test func aClientThatSendsOnThoughItIsToWaitIsClosed() async throws {
        try await TestPort.run {
            $0.limits.waitingRequests = 10
            $0.port.hold = .milliseconds(1)
            // No token is ever verified.
            $0.credentials = RealtimeCredentials(isDevelopment: true) { _, _ in }
        } _: { port in
            let (client, base, _) = try await beginPolling(port)
            var number = 0
            var isClosed = false
            // What was sent may not have arrived yet, so that there is no number by which it is closed.
            while !isClosed {
                var request = base
                for index in 0..<200 {
                    let body = number == 0 ? #""a":"auth","b":{"cred":"slow.1"}"# : #""a":"s","b":{}"#
                    request += poll(number, #"{"t":"d","d":{"r":1,\#(body)}}"#).replacing("seg0", with: "seg\(index)")
                        .replacing("ts0", with: "ts\(index)").replacing("d0", with: "d\(index)")
                    number += 1
                }
                let other = try await port.client()
                try await other.send("GET \(request) HTTP/1.1\r\nHost: h\r\n\r\n")
                let answer = try await client.ask("GET", base).body
                isClosed = answer.contains("close") || answer.contains("no such session")
            }
        }
    }

    /// Another socket has been taken.
    @Test func aRefusedSocketDoesNotActForTheSession() async throws {
        try await TestPort.run { port in
            let (client, base, id) = try await beginPolling(port)
            let socket = try await port.client()
            _ = try await socket.upgrade("v=5&ns=n&s=\(id)")
            #expect(try await socket.message() == #"{"t":"c","d":{"t":"a","d":{}}}"#)
            func beRefused() async throws {
                let other = try await port.client()
                _ = try await other.upgrade("v=5&ns=n&s=\(id)")
                #expect(try await other.message() == #"{"t":"c","d":{"t":"r","d":"h"}}"#)
                #expect(try await other.frame().opcode == 8)
                try await other.sendFrame("", opcode: 8)
                try await other.waitForEnd()
            }
            try await beRefused()
            try await socket.sendFrame(#"{"t":"c","d":{"t":"a","d":{}}}"#)
            let last = try await client.ask("GET", base + poll(0, #"{"t":"c","d":{"t":"n","d":{}}}"#))
            #expect(last.body.contains(#"{"t":"c","d":{"t":"n","d":{}}}"#))
            try await beRefused()
            #expect(try await socket.request(3, "s", "{}").count == 1)
        }
    }

    @Test func anUnknownSessionIsSentBackToPolling() async throws {
        try await TestPort.run { port in
            let socket = try await port.client()
            _ = try await socket.upgrade("v=5&ns=n&s=none")
            #expect(try await socket.message() == #"{"t":"c","d":{"t":"r","d":"h"}}"#)
            #expect(try await socket.frame().opcode == 8)
        }
    }
}
