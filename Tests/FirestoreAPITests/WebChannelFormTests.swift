import CommitPipeline
import DocumentModel
import DocumentStore
@testable import FirestoreAPI
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import SecurityRules
import StorageEngine
import TestSupport
import Testing

/// What the web SDK sends, on a store.
@Suite(.endsHangs) struct WebChannelFormTests {
    private static let path = "/google.firestore.v1.Firestore/Write/channel?VER=8"

    private func serving(
        _ body: @escaping @Sendable (_ client: any TestClientProtocol, _ database: DatabaseID) async throws -> Void
    ) async throws {
        let database = DatabaseID(project: "demo-shop")
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        try store.start()
        let rules = ClientRules(.open)
        let service = StoreDocumentService(store, database: database, rules: rules)
        let webChannel = WebChannelService(store, database: database, service: service, rules: rules)
        let rest = DocumentREST(
            database: database, service: service, rules: rules, isDevelopment: true,
            principals: PrincipalReader(isDevelopment: true) { _ in Requester(.admin) }, webChannel: webChannel,
            maxBodyBytes: 4096, isForeign: { $0 != "http://localhost" })
        try await Application(responder: rest).test(.router) { client in try await body(client, database) }
        await webChannel.close {}
        await store.shutdown()
    }

    /// A form with maps, percent-encoded as the SDK does it.
    private func form(_ maps: [String], from offset: Int) throws -> ByteBuffer {
        var form = "count=\(maps.count)&ofs=\(offset)"
        for (number, map) in maps.enumerated() {
            let text = try #require(map.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            form += "&req\(number)___data__=\(text)"
        }
        return ByteBuffer(string: form)
    }

    /// The SDK takes it for that if the words are behind the first character: closure-library's `indexOf(…) > 0`.
    @Test func anUnknownSessionIsKnownToBeThat() async throws {
        try await serving { client, _ in
            let response = try await client.executeRequest(
                uri: Self.path + "&SID=none&RID=rpc&AID=0&TYPE=xmlhttp", method: .get, headers: [:], body: nil)
            #expect(response.status == .badRequest)
            #expect(String(buffer: response.body).dropFirst().contains("Unknown SID"))
        }
    }

    /// The proxy between ends an answer that takes longer.
    @Test func aClientSaysHowLongAnAnswerMayTake() throws {
        let path = "/google.firestore.v1.Firestore/Listen/channel?SID=s&RID=rpc&AID=0&CI=1&TO=25000&TYPE=xmlhttp"
        let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: path)
        let request = try WebChannelRequest(Request(head: head, body: RequestBody(buffer: ByteBuffer())))
        guard case .back(let session, _, true, let timeout) = request.kind else {
            Issue.record("it isn't a buffered back channel")
            return
        }
        #expect(session == "s" && timeout == 25_000)
        #expect(WebChannelService.pollTime(timeout, keepAliveSeconds: 30) == .seconds(25))
        #expect(WebChannelService.pollTime(nil, keepAliveSeconds: 30) == .seconds(30))
        #expect(WebChannelService.pollTime(.max, keepAliveSeconds: 30) == .seconds(30))
        #expect(WebChannelService.pollTime(-1, keepAliveSeconds: 30) == .seconds(1))
    }

    /// Each name is compared with several: millions of marks, which fit a form, would take hours.
    @Test func aNameThatTakesLongToCompareIsRefused() {
        func form(_ pairs: Int) -> [UInt8] {
            Array("ofs=1&o\(String(repeating: "\u{301}\u{323}", count: pairs))=2".utf8)
        }
        #expect(WebChannelForm(form(500))?.offset == 1)
        #expect(WebChannelForm(form(501)) == nil)
    }

    /// Otherwise the SDK would send all of it again and again, and no write behind it. It takes an error for that of
    /// the first write that isn't answered.
    @Test(arguments: [(1, "UNAVAILABLE"), (0, "INVALID_ARGUMENT")])
    func writesBeyondOneRequestAreRefusedOnceThoseBeforeThemAreDone(before: Int, status: String) async throws {
        try await serving { client, database in
            let opening = try form([#"{"database":"\#(database.resourceName)"}"#], from: 0)
            let opened = try await client.executeRequest(
                uri: Self.path + "&RID=1&CVER=22", method: .post, headers: [:], body: opening)
            let parts = String(buffer: opened.body).split(separator: "\"", omittingEmptySubsequences: false)
            try #require(parts.count > 4)
            let session = Self.path + "&SID=\(parts[3])"
            let write = #"{"writes":[{"update":{"name":"\#(database.documentsRoot)/c/a","fields":{}}}]}"#
            let large = String(repeating: "x", count: 13_000)
            let answer = try await client.executeRequest(
                uri: session + "&RID=2&AID=0", method: .post, headers: [:],
                body: try form(Array(repeating: write, count: before) + [large], from: 1))
            #expect(answer.status == .ok)
            var received = ""
            while !received.contains("error") {
                let response = try await client.executeRequest(
                    uri: session + "&RID=rpc&AID=0&CI=1&TYPE=xmlhttp", method: .get, headers: [:], body: nil)
                received = String(buffer: response.body)
            }
            #expect(received.contains(#""status":"\#(status)""#))
            #expect(received.components(separatedBy: "commitTime").count == before + 1)
        }
    }

    /// A page of another site could otherwise read and write all in development.
    @Test(arguments: [
        ("http://localhost", "owner", true), ("https://evil.test", "owner", false), ("null", "owner", false),
        ("https://evil.test", "a-token", true), ("https://evil.test", "ya29.c.opaque", false),
    ])
    func aPageOfAnotherSiteIsNotTheOwner(origin: String, token: String, isServed: Bool) async throws {
        try await serving { client, database in
            let maps = try form([#"{"database":"\#(database.resourceName)"}"#], from: 0)
            let headers = "headers=Authorization%3ABearer%20\(token)%0D%0A&"
            let opened = try await client.executeRequest(
                uri: Self.path + "&RID=1&CVER=22", method: .post, headers: [.origin: origin],
                body: ByteBuffer(string: headers + String(buffer: maps)))
            let parts = String(buffer: opened.body).split(separator: "\"", omittingEmptySubsequences: false)
            try #require(parts.count > 4)
            let response = try await client.executeRequest(
                uri: Self.path + "&SID=\(parts[3])&RID=rpc&AID=0&CI=1&TYPE=xmlhttp", method: .get, headers: [:],
                body: nil)
            let received = String(buffer: response.body)
            #expect(received.contains("streamToken") == isServed)
            #expect(received.contains("PERMISSION_DENIED") == !isServed)
        }
    }

    /// The client would get no answer, and send the write again.
    @Test func aWriteUnderWayIsAnsweredBeforeItsTokenExpires() async throws {
        let database = DatabaseID(project: "demo-shop")
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        let rules = ClientRules(.open)
        let service = StoreDocumentService(store, database: database, rules: rules)
        let webChannel = WebChannelService(store, database: database, service: service, rules: rules)
        let expires = Timestamp(seconds: Timestamp.wallClock().seconds + 100_000, nanoseconds: 0)
        let rest = DocumentREST(
            database: database, service: service, rules: rules, isDevelopment: true,
            principals: PrincipalReader(isDevelopment: true) { _ in
                Requester(.client(ClientIdentity(uid: "ada", expires: expires)))
            }, webChannel: webChannel)
        try await Application(responder: rest).test(.router) { client in
            let write = #"{"writes":[{"update":{"name":"\#(database.documentsRoot)/c/a","fields":{}}}]}"#
            let maps = try form([#"{"database":"\#(database.resourceName)"}"#, write], from: 0)
            let opened = try await client.executeRequest(
                uri: Self.path + "&RID=1&CVER=22", method: .post, headers: [.authorization: "Bearer a-token"],
                body: maps)
            let parts = String(buffer: opened.body).split(separator: "\"", omittingEmptySubsequences: false)
            try #require(parts.count > 4)
            // Until the store has started, no write is done.
            webChannel.sweep(time: expires)
            try store.start()
            var received = ""
            while !received.contains("error") {
                let response = try await client.executeRequest(
                    uri: Self.path + "&SID=\(parts[3])&RID=rpc&AID=0&CI=1&TYPE=xmlhttp", method: .get, headers: [:],
                    body: nil)
                received = String(buffer: response.body)
            }
            let answers = received.components(separatedBy: "error")
            #expect(answers.first?.contains("commitTime") == true)
            #expect(answers.last?.contains("UNAUTHENTICATED") == true)
        }
        await webChannel.close {}
        await store.shutdown()
    }

    /// The client would get no answer, and send the write again to the host that starts next.
    @Test func aWriteUnderWayIsAnsweredBeforeTheHostStops() async throws {
        let database = DatabaseID(project: "demo-shop")
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        let rules = ClientRules(.open)
        let service = StoreDocumentService(store, database: database, rules: rules)
        let webChannel = WebChannelService(store, database: database, service: service, rules: rules)
        let rest = DocumentREST(
            database: database, service: service, rules: rules, isDevelopment: true,
            principals: PrincipalReader(isDevelopment: true) { _ in Requester(.admin) }, webChannel: webChannel)
        try await Application(responder: rest).test(.router) { client in
            let write = #"{"writes":[{"update":{"name":"\#(database.documentsRoot)/c/a","fields":{}}}]}"#
            let opened = try await client.executeRequest(
                uri: Self.path + "&RID=1&CVER=22", method: .post, headers: [:],
                body: try form([#"{"database":"\#(database.resourceName)"}"#, write], from: 0))
            let parts = String(buffer: opened.body).split(separator: "\"", omittingEmptySubsequences: false)
            try #require(parts.count > 4)
            // Until the store has started, no write is done.
            async let closed: Void = webChannel.close { try? await Task.sleep(for: .seconds(3600)) }
            try store.start()
            var received = ""
            while !received.contains("error") {
                let response = try await client.executeRequest(
                    uri: Self.path + "&SID=\(parts[3])&RID=rpc&AID=0&CI=1&TYPE=xmlhttp", method: .get, headers: [:],
                    body: nil)
                try #require(response.status == .ok)
                received = String(buffer: response.body)
            }
            let answers = received.components(separatedBy: "error")
            #expect(answers.first?.contains("commitTime") == true)
            #expect(answers.last?.contains("UNAVAILABLE") == true)
            await closed
            let late = try await client.executeRequest(
                uri: Self.path + "&SID=\(parts[3])&RID=rpc&AID=0&CI=1&TYPE=xmlhttp", method: .get, headers: [:],
                body: nil)
            #expect(String(buffer: late.body).hasSuffix("Unknown SID"))
        }
        await store.shutdown()
    }

    /// A number behind the map's didn't exist, and the host ended.
    @Test(arguments: [(Int.max, 400), (Int.max - 1, 400), (1, 200)])
    func aFormThatIsNotWholeMayHaveAnyOffset(offset: Int, status: Int) async throws {
        try await serving { client, database in
            let opening = try form([#"{"database":"\#(database.resourceName)"}"#], from: 0)
            let opened = try await client.executeRequest(
                uri: Self.path + "&RID=1&CVER=22", method: .post, headers: [:], body: opening)
            let parts = String(buffer: opened.body).split(separator: "\"", omittingEmptySubsequences: false)
            try #require(parts.count > 4)
            let answer = try await client.executeRequest(
                uri: Self.path + "&SID=\(parts[3])&RID=2&AID=0", method: .post, headers: [:],
                body: try form(["{}", String(repeating: "x", count: 13_000)], from: offset))
            #expect(answer.status.code == status)
        }
    }

    /// Ten writes that waited for the network, of 1 MiB each, are one form. The SDK would send a refused one for ever.
    @Test(arguments: [(12_000, 200), (13_000, 400)])
    func aFormMayBeThreeTimesAsLargeAsARequest(bytes: Int, status: Int) async throws {
        let start = "count=0&headers="
        let form = start + String(repeating: "x", count: bytes - start.utf8.count)
        try await serving { client, _ in
            let answer = try await client.executeRequest(
                uri: Self.path + "&RID=1&CVER=22", method: .post, headers: [:], body: ByteBuffer(string: form))
            #expect(answer.status.code == status)
        }
    }
}
