import Logging
import NIOCore
import Testing
import WorkerProtocol
import WorkerTesting

/// What workers log, within its bounds.
@Suite struct WorkerLogTests {
    private func line(_ message: String, _ metadata: [String: LogValue] = [:], level: UInt8 = 2) -> LogLine {
        LogLine(level: level, label: "f", message: message, metadata: metadata)
    }

    @Test func aLineIsLoggedWithItsInvocation() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            _ = try ring.call("f")
            let invocation = try #require(ring.next())
            invocation.worker.log(line("hello", ["order": "7"]), invocation.id)
            invocation.worker.log(line("without an invocation"))
            let hello = try #require(ring.log.lines("hello").first)
            #expect(hello.label == "f")
            #expect(hello.level == .info)
            #expect(hello.metadata["order"] == "7")
            #expect(hello.metadata["execution.id"] == invocation.head.executionID)
            #expect(ring.log.lines("without an invocation").first?.metadata["execution.id"] == nil)
        }
    }

    @Test func aFunctionDoesNotNameExecutionsAndWorkers() throws {
        try GatewayRing.with([.callable("f"), .callable("victim")]) { ring in
            _ = try ring.call("victim")
            let victim = try #require(ring.next())
            _ = try ring.call("f")
            let invocation = try #require(ring.next())
            let forged: [String: LogValue] = [
                "execution.id": .text(victim.head.executionID), "worker.id": "7", "order": "8",
            ]
            invocation.worker.log(line("without an invocation", forged))
            // An id of another worker's invocation doesn't help.
            invocation.worker.log(line("of another", forged), victim.id)
            invocation.worker.log(line("of its own", forged), invocation.id)
            let lines = ["without an invocation", "of another", "of its own"].compactMap { ring.log.lines($0).first }
            #expect(lines.map { $0.metadata["execution.id"] } == [nil, nil, invocation.head.executionID])
            #expect(lines.map { $0.metadata["order"] } == ["8", "8", "8"])
            #expect(!lines.contains { $0.metadata["worker.id"] == "7" })
        }
    }

    @Test func structuredMetadataKeepsItsStructure() throws {
        let secret = "correct horse battery staple"
        try GatewayRing.with([.callable("f")], secrets: ["KEY": secret]) { ring in
            _ = try ring.call("f")
            let order: LogValue = .members(["id": "7", "notes": .list([.text(secret), "b"])])
            try #require(ring.worker).log(line("sold", ["order": order]))
            let sold = try #require(ring.log.lines("sold").first)
            #expect(sold.values["order"] == .dictionary(["id": "7", "notes": .array(["●●●", "b"])]))
        }
    }

    @Test func linesBelowTheFunctionsLevelAreNotLogged() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            _ = try ring.call("f")
            let worker = try #require(ring.worker)
            worker.log(line("detail", level: 1))
            worker.log(line("news", level: 2))
            #expect(ring.log.lines("detail").isEmpty && ring.log.lines("news").count == 1)
        }
        let environment = [WorkerEnvironment.logLevelVariable: "debug"]
        try GatewayRing.with([.callable("f")], environment: environment) { ring in
            _ = try ring.call("f")
            let worker = try #require(ring.worker)
            worker.log(line("more detail", level: 0))
            worker.log(line("detail", level: 1))
            #expect(ring.log.lines("more detail").isEmpty && ring.log.lines("detail").count == 1)
        }
    }

    @Test func aLongLineIsCutByTheHost() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            _ = try ring.call("f")
            let text = String(repeating: "x", count: 40_000)
            try #require(ring.worker).log(line(text, [text: .text(text)]))
            let cut = try #require(ring.log.lines.first { $0.message.hasPrefix("xxxx") })
            let pair = try #require(cut.metadata.first { $0.key.hasPrefix("xxxx") })
            for text in [cut.message, pair.key, pair.value] {
                #expect(text.utf8.count == LogLine.maxText)
                #expect(text.hasSuffix("…"))
            }
        }
    }

    @Test func linesBeyondThoseOfASecondAreDroppedAndCounted() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.call("f")
            let invocation = try #require(ring.next())
            for _ in 0..<2_500 { invocation.worker.log(line("a line of a flood"), invocation.id) }
            #expect(ring.log.lines("a line of a flood").count == 1000)
            #expect(ring.log.lines("output was dropped").isEmpty)
            ring.advance(.seconds(1))
            let report = try #require(ring.log.lines("output was dropped").first)
            #expect(report.metadata["output.dropped"] == "1500")
            #expect(report.metadata["output.limit"] == "1000 lines or 1048576 logged bytes a second")
            for _ in 0..<10 { invocation.worker.log(line("a line of a flood"), invocation.id) }
            #expect(ring.log.lines("a line of a flood").count == 1010)
            invocation.end("1")
            ring.run()
            #expect(client.answer?.body == #"{"result":1}"#)
        }
    }

    /// An event loop has to read what is dropped, and serves other workers, too.
    @Test func aLinkThatBringsTooMuchForNothingIsReadSlowly() throws {
        try GatewayRing.with([.callable("f"), .callable("other")]) { ring in
            let other = try ring.call("other")
            let otherInvocation = try #require(ring.next())
            let client = try ring.call("f")
            let invocation = try #require(ring.next())
            let flood = line(String(repeating: "x", count: 900_000))
            for _ in 0..<25 { invocation.worker.log(flood, invocation.id) }
            invocation.end("1")
            otherInvocation.end("2")
            ring.advance(.milliseconds(990))
            #expect(other.answer?.body == #"{"result":2}"#)
            #expect(invocation.worker.unreadBytes > 0)
            #expect(client.answer == nil)
            ring.advance(.milliseconds(20))
            #expect(client.answer?.body == #"{"result":1}"#)
        }
    }

    /// Some may be on their way when it ends.
    @Test func framesOfAnEndedInvocationAreReadSlowly() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let first = try ring.call("f")
            let ended = try #require(ring.next())
            ended.end("1")
            ring.run()
            #expect(first.answer?.body == #"{"result":1}"#)
            let second = try ring.call("f")
            let flood = String(repeating: "x", count: 1_000_000)
            for _ in 0..<20 { ended.end(flood) }
            try #require(ring.next()).end("2")
            ring.run()
            #expect(ended.worker.unreadBytes > 0)
            #expect(second.answer == nil)
            ring.advance(.seconds(2))
            #expect(second.answer?.body == #"{"result":2}"#)
        }
    }
}
