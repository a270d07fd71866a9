import HostTesting
import DocumentModel
import HTTPTypes
import StrictJSON
import Testing

/// Publishing with Pub/Sub's API.
struct MessageRESTTests {
    private static let path = "/v1/projects/demo-shop/topics/orders:publish"

    @Test func messagesBecomeEventsOfTheirTopic() async throws {
        let port = try EventExchanges()
        let answer = try await port.send(
            .post, Self.path,
            #"{"messages":[{"data":"aGk=","attributes":{"kind":"new"},"orderingKey":"k"},{"attributes":{"a":"b"}}]}"#)
        let events = try await port.events(of: "audit").custom
        let ids = events.compactMap(\.id)
        try #require(ids.count == 2)
        #expect(answer == RESTAnswer(status: 200, body: #"{"messageIds":["\#(ids[0])","\#(ids[1])"]}"#))
        #expect(Set(ids).count == 2)
        let first = try #require(events.first)
        #expect(
            first.type == "google.cloud.pubsub.topic.v1.messagePublished" && first.attributes == ["topic": "orders"])
        #expect(first.source == "//pubsub.googleapis.com/projects/demo-shop/topics/orders")
        let root = try JSONNode(parsing: first.data)
        #expect(try root["message"]?["data"]?.string() == "aGk=")
        #expect(try root["message"]?["attributes"]?["kind"]?.string() == "new")
        #expect(try root["message"]?["orderingKey"]?.string() == "k")
        #expect(try root["message"]?["messageId"]?.string() == ids[0])
        #expect(try root["message"]?["publishTime"]?.string() == EventExchanges.start.rfc3339)
        await port.shutdown()
    }

    private static let long = String(repeating: "k", count: 257)

    private static let refusals: [(body: String, message: String)] = [
        ("", "a request needs 1 … 1000 messages; this one has 0"),
        (#"{"messages":[{}]}"#, "messages[0]: a message needs data or at least one attribute"),
        (#"{"messages":[{"data":"?"}]}"#, "messages[0].data: not valid base64"),
        (#"{"messages":[{"data":"aGk=","atributes":{}}]}"#, "messages[0].atributes: unknown key"),
        (#"{"messages":[{"attributes":{"a":1}}]}"#, "messages[0].attributes.a: 1 is not a string"),
        (
            #"{"messages":[{"attributes":{"\#(long)":"a"}}]}"#,
            "messages[0].attributes.\(long): an attribute name must have 1 … 256 bytes"
        ),
    ]

    @Test(arguments: refusals) func invalidMessagesAreRefused(body: String, message: String) async throws {
        let port = try EventExchanges()
        #expect(try await port.send(.post, Self.path, body) == .error(.invalidArgument, message))
        #expect(try await port.events(of: "audit").isEmpty)
        await port.shutdown()
    }

    @Test func invalidTopicsAreRefused() async throws {
        let port = try EventExchanges()
        let body = #"{"messages":[{"data":"aGk="}]}"#
        let answer = try await port.send(.post, "/v1/projects/demo-shop/topics/9:publish", body)
        #expect(answer.status == 400 && answer.body.contains("isn't a valid topic name"))
        #expect(try await port.send(.post, "/v1/projects/demo-shop/topics/orders:pull", body).status == 404)
        await port.shutdown()
    }
}
