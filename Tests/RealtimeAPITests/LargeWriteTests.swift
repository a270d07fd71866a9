import CommitPipeline
import DocumentModel
import Foundation
import Logging
import RealtimeModel
import RealtimeStore
import StorageEngine
import TestSupport
import Testing

@testable import RealtimeAPI

/// Values that are too large to be held, from the request to the store.
@Suite(.endsHangs) struct LargeWriteTests {
    /// Runs a body with a port on a store in memory, and checks the store.
    private func run(_ body: (TestPort) async throws -> Void) async throws {
        let pipeline = try CommitPipeline(engine: MemoryEngine(), now: Timestamp.wallClock)
        let store = try RealtimeStore(on: pipeline)
        try pipeline.start()
        let spool = Spool(directory: FileManager.default.temporaryDirectory.path)
        let service = StoreRealtimeService(
            store, names: [], isDevelopment: true, spool: spool, logger: Logger(label: "test"),
            now: { Timestamp.wallClock().microseconds / 1000 })
        try await TestPort.run({ ($0.service, $0.spool) = (service, spool) }, body)
        var problems: [String] = []
        _ = try pipeline.check(report: { problems.append($0) }, progress: { _ in })
        #expect(problems == [])
        await pipeline.shutdown()
    }

    /// More than is read into memory, with its children out of order.
    private static let text =
        "{"
        + (0..<6_000).map { "\"k\($0)\":{\"n\":\($0),\"text\":\"\(String(repeating: "x", count: 1_600))\"}" }
        .joined(separator: ",") + "}"

    /// The same with its keys in order, as it is read.
    private static let sorted =
        "{"
        + (0..<6_000).map { "k\($0)" }.sorted()
        .map { "\"\($0)\":{\"n\":\($0.dropFirst()),\"text\":\"\(String(repeating: "x", count: 1_600))\"}" }
        .joined(separator: ",") + "}"

    @Test func aLargeValueIsWrittenAndAnswered() async throws {
        #expect(Self.text.utf8.count > RESTWriteReader.largeBody)
        try await run { port in
            let client = try await port.client()
            let put = try await client.ask("PUT", "/a.json?ns=n", ["X-Firebase-ETag: true"], body: Self.text)
            #expect(put.status == 200)
            #expect(put.body == Self.sorted)
            let etag = try #require(put.header("ETag"))
            let get = try await client.ask("GET", "/a.json?ns=n", ["X-Firebase-ETag: true"])
            #expect(get.body == Self.sorted)
            #expect(get.header("ETag") == etag)
            // The condition holds once.
            let again = try await client.ask(
                "PUT", "/a.json?ns=n&print=silent", ["If-Match: \(etag)"],
                body: Self.text.replacing("\"k7\"", with: "\"z\""))
            #expect(again.status == 204)
            #expect(again.body == "")
            let stale = try await client.ask("PUT", "/a.json?ns=n", ["If-Match: \(etag)"], body: Self.text)
            #expect(stale.status == 412)
            let post = try await client.ask("POST", "/b.json?ns=n", body: Self.text)
            #expect(post.status == 200)
            let name = try #require(post.body.split(separator: "\"").dropFirst(3).first)
            #expect(try await client.ask("GET", "/b/\(name)/k5999/n.json?ns=n").body == "5999")
        }
    }

    /// A text of a few bytes for each node can have many. They are stored beside other commits, in the order of requests.
    @Test func aValueOfManyNodesKeepsItsPlace() async throws {
        try await run { port in
            let client = try await port.client()
            let text = "[" + (0..<25_000).map { "\($0)" }.joined(separator: ",") + "]"
            let put = try await client.ask("PUT", "/a.json?ns=n", ["X-Firebase-ETag: true"], body: text)
            #expect(put.status == 200)
            let get = try await client.ask("GET", "/a.json?ns=n", ["X-Firebase-ETag: true"])
            #expect(get.body == text)
            #expect(get.header("ETag") == put.header("ETag"))
            let stale = try await client.ask("PUT", "/a.json?ns=n", ["If-Match: wrong"], body: text)
            #expect(stale.status == 412)
            let patch = try await client.ask("PATCH", "/.json?ns=n", body: "{\"b\":\(text),\"a/7\":null}")
            #expect(patch.status == 200)
            #expect(try await client.ask("GET", "/b/24999.json?ns=n").body == "24999")
            #expect(try await client.ask("GET", "/a/7.json?ns=n").body == "null")
        }
    }

    @Test func manyNullsDelete() async throws {
        try await run { port in
            let client = try await port.client()
            let nulls = "[" + (0..<25_000).map { _ in "null" }.joined(separator: ",") + "]"
            #expect(try await client.ask("PUT", "/a.json?ns=n", body: "1").status == 200)
            let put = try await client.ask("PUT", "/a.json?ns=n", body: nulls)
            #expect(put.status == 200)
            #expect(put.body == "null")
            #expect(try await client.ask("GET", "/a.json?ns=n").body == "null")
        }
    }

    @Test func aLargeTextThatIsNoValueIsRefusedAsASmallOne() async throws {
        try await run { port in
            let client = try await port.client()
            _ = try await client.ask("PUT", "/a.json?ns=n", body: "1")
            for (end, message) in [
                ("", "Invalid data; couldn't parse JSON object, array, or value."),
                (
                    ",\n\"a.b\":1}",
                    "Invalid data; couldn't parse key beginning at 2:1. Key value can't be empty or contain $ # [ ] / or ."
                ),
                (",\"k1\":2}", "Invalid data; the key \\\"k1\\\" is repeated (at /a)"),
            ] {
                let answer = try await client.ask("PUT", "/a.json?ns=n", body: String(Self.text.dropLast()) + end)
                #expect(answer.status == 400)
                #expect(answer.body == "{\n  \"error\" : \"\(message)\"\n}\n")
            }
            #expect(try await client.ask("GET", "/a.json?ns=n").body == "1")
        }
    }

    @Test func serverValuesOfALargeValueAreComputed() async throws {
        try await run { port in
            let client = try await port.client()
            let put = try await client.ask(
                "PUT", "/a.json?ns=n&print=silent",
                body: String(Self.text.dropLast()) + ",\"s\":{\".sv\":{\"increment\":3}}}")
            #expect(put.status == 204)
            #expect(try await client.ask("GET", "/a/s.json?ns=n").body == "3")
        }
    }

    /// The answer goes on as the client takes it.
    @Test func aLargeAnswerWaitsForItsClient() async throws {
        try await run { port in
            let client = try await port.client(isReading: false)
            try await client.send(
                "PUT /a.json?ns=n HTTP/1.1\r\nHost: h\r\nContent-Length: \(Self.text.utf8.count)\r\n\r\n" + Self.text)
            _ = try await client.readSome()
            try await client.startReading()
            let answer = try await client.answer()
            #expect(answer.body == Self.sorted)
        }
    }

    /// A listener of a small part hears of it.
    @Test func aStreamOfAPartHasItsChange() async throws {
        try await run { port in
            let writer = try await port.client()
            let listener = try await port.client()
            try await listener.send("GET /a/k5/n.json?ns=n HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n")
            _ = try await listener.text(through: "\"data\":null}\n\n")
            _ = try await writer.ask("PUT", "/a.json?ns=n&print=silent", body: Self.text)
            _ = try await listener.text(through: "{\"path\":\"/\",\"data\":5}\n\n")
            try await listener.close()
        }
    }
}
