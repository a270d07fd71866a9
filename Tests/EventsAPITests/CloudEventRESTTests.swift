import HostTesting
import DocumentModel
import HTTPTypes
import Testing

/// CloudEvents in the modes of the HTTP binding, and in Eventarc's format.
struct CloudEventRESTTests {
    private static let path = "/projects/demo-shop/events"
    private static let structured = "application/cloudevents+json; charset=utf-8"

    private func published(
        _ body: String, _ headers: [String: String], to path: String = path
    ) async throws -> (answer: RESTAnswer, events: [CloudEvent]) {
        let port = try EventExchanges()
        let answer = try await port.send(.post, path, body, headers: headers)
        let events = try await port.events(of: "audit").custom
        await port.shutdown()
        return (answer, events)
    }

    @Test func binaryModeReadsHeadersAndBody() async throws {
        let headers = [
            "ce-specversion": "1.0", "ce-type": "shop.paid", "ce-source": "/shop",
            "ce-id": "7", "ce-time": "2026-01-02T03:04:05.123456789+01:00",
            "CE-Subject": "caf%C3%A9%20%22x%22", "ce-region": "\"a \\\"b\\\"\"",
            "Content-Type": "text/plain; charset=utf-8",
        ]
        let (answer, events) = try await published("hello", headers)
        #expect(answer == RESTAnswer(status: 200, body: "{}"))
        let event = CloudEvent(
            type: "shop.paid", source: "/shop", id: "7", subject: "café \"x\"",
            time: Timestamp(rfc3339: "2026-01-02T02:04:05.123456Z"), dataContentType: "text/plain; charset=utf-8",
            attributes: ["region": "a \"b\""], data: Array("hello".utf8))
        #expect(events == [event])
    }

    private static let kept: [(members: String, data: String?, type: String)] = [
        (
            #""data": {"n": [1.0, 1e2, 12345678901234567890, "a\"]}"], "e": ""} "#,
            #"{"n": [1.0, 1e2, 12345678901234567890, "a\"]}"], "e": ""}"#, "application/json"
        ),
        (#""data":12.50"#, "12.50", "application/json"),
        (#""data":"text""#, "\"text\"", "application/json"),
        (#""datacontenttype":"text/plain","data":"te\nxt""#, "te\nxt", "text/plain"),
        (#""datacontenttype":"application/vnd.x+json","data":"text""#, "\"text\"", "application/vnd.x+json"),
        (#""datacontenttype":"image/png","data_base64":"AAH/""#, nil, "image/png"),
        (#""datacontenttype":"image/png","data":null,"data_base64":"AAH/""#, nil, "image/png"),
        (#""data_base64":null,"data":1"#, "1", "application/json"),
        (#""data":true"#, "true", "application/json"),
    ]

    @Test(arguments: kept) func dataAreStoredAsWritten(members: String, data: String?, type: String) async throws {
        let body =
            #"{"specversion":"1.0","type":"shop.paid","source":"/s","id":"1",\#(members),"number":4,"flag":false}"#
        let (answer, events) = try await published(body, ["Content-Type": Self.structured])
        #expect(answer.status == 200, "\(answer.body)")
        #expect(events.first?.data == data.map { Array($0.utf8) } ?? [0, 1, 255])
        #expect(events.first?.dataContentType == type)
        #expect(events.first?.attributes == ["number": "4", "flag": "false"])
    }

    @Test func anAttributeOfNullIsUnset() async throws {
        let body = #"""
            {"specversion":"1.0","type":"shop.paid","source":"/s","id":"1","subject":null,"time":null,"dataschema":null,
            "datacontenttype":null,"total":null,"data":1}
            """#
        let (answer, events) = try await published(body, ["Content-Type": Self.structured])
        #expect(answer == RESTAnswer(status: 200, body: "{}"))
        #expect(events.count == 1)
        #expect(events.first?.subject == nil && events.first?.dataSchema == nil)
        #expect(events.first?.dataContentType == "application/json")
        #expect(events.first?.attributes.isEmpty == true)
    }

    @Test func aBatchIsPublishedAtomically() async throws {
        let one = #"{"specversion":"1.0","type":"shop.paid","source":"/s","id":"1","data":1}"#
        let batch = ["Content-Type": "application/cloudevents-batch+json"]
        #expect(try await published("[\(one), \(one)]", batch).events.map(\.data) == [[49], [49]])
        #expect(try await published("[]", batch).answer == RESTAnswer(status: 200, body: "{}"))
        let (answer, events) = try await published("[\(one), {}]", batch)
        #expect(answer.status == 400 && answer.body.contains("[1]: an event needs its specversion"))
        #expect(events.isEmpty)
    }

    @Test func eventarcsFormatIsRead() async throws {
        // The request that firebase-admin's channel sends.
        let body = #"""
            {"events":[{"@type":"type.googleapis.com/io.cloudevents.v1.CloudEvent","id":"e1","type":"shop.paid",
            "specVersion":"1.0","source":"//shop","attributes":{"time":{"ceTimestamp":"2026-01-02T03:04:05.678Z"},
            "datacontenttype":{"ceString":"application/json"},"subject":{"ceString":"o1"},"total":{"ceInteger":12},
            "vip":{"ceBoolean":true}},"textData":"{\"order\":1}"}],
            "textEvents":["{\"specversion\":\"1.0\",\"type\":\"shop.paid\",\"source\":\"/s\",\"id\":\"2\",\"data\":[1]}"]}
            """#
        for prefix in ["", "/v1"] {
            let (answer, events) = try await published(
                body, [:], to: prefix + "/projects/demo-shop/locations/us-central1/channels/firebase:publishEvents")
            #expect(answer == RESTAnswer(status: 200, body: "{}"))
            #expect(events.count == 2)
            #expect(
                events.first
                    == CloudEvent(
                        type: "shop.paid", source: "//shop", id: "e1", subject: "o1",
                        time: Timestamp(rfc3339: "2026-01-02T03:04:05.678Z"), dataContentType: "application/json",
                        attributes: ["total": "12", "vip": "true"], data: Array(#"{"order":1}"#.utf8)))
            #expect(events.last?.data == Array("[1]".utf8))
        }
    }

    private static let refusals: [(body: String, headers: [String: String], message: String)] = [
        (
            "", [:],
            "the request is not an event: it has neither headers such as ce-type nor the Content-Type application/cloudevents+json"
        ),
        ("", ["ce-type": "shop.paid"], "an event needs its specversion (in the headers ce-…)"),
        ("", ["ce-specversion": "0.3"], #"ce-specversion: the specversion "0.3" isn't supported; send 1.0"#),
        (
            "", ["ce-a-b": "1"],
            #"ce-a-b: "a-b" is not an attribute name; names have lower-case letters and digits only"#
        ),
        ("", ["ce-subject": "%zz"], "ce-subject: the value isn't valid percent-encoding"),
        ("", ["ce-datacontenttype": "x"], "ce-datacontenttype: give the data's media type in the header Content-Type"),
        (
            "<e/>", ["Content-Type": "application/cloudevents+xml"],
            "send events as application/cloudevents+json or application/cloudevents-batch+json; application/cloudevents+xml isn't supported"
        ),
        ("{", ["Content-Type": structured], "the body, line 1, column 2: a key in quotes should be here"),
        ("[]", ["Content-Type": structured], "an array is not an object"),
        (#"{"specversion":"1.0","id":""}"#, ["Content-Type": structured], "id: the attribute id must not be empty"),
        (#"{"specversion":"1.0","id":"1","type":"t"}"#, ["Content-Type": structured], "an event needs its source"),
        (
            #"{"specversion":"1.0","id":"1","type":"t","source":null}"#, ["Content-Type": structured],
            "an event needs its source"
        ),
        (
            #"{"time":"yesterday"}"#, ["Content-Type": structured],
            #"time: "yesterday" is not an RFC 3339 timestamp, such as 2026-01-02T03:04:05Z"#
        ),
        (
            #"{"Total":"1"}"#, ["Content-Type": structured],
            #"Total: "Total" is not an attribute name; names have lower-case letters and digits only"#
        ),
        (
            #"{"total":[1]}"#, ["Content-Type": structured],
            "total: an array is not an attribute value; write a string, an integer, true or false"
        ),
        (
            #"{"data":1,"data_base64":"AA=="}"#, ["Content-Type": structured],
            "data_base64: data and data_base64 exclude each other"
        ),
    ]

    @Test(arguments: refusals)
    func invalidEventsAreRefused(body: String, headers: [String: String], message: String) async throws {
        let port = try EventExchanges()
        #expect(try await port.send(.post, Self.path, body, headers: headers) == .error(.invalidArgument, message))
        #expect(try await port.events(of: "audit").isEmpty)
        await port.shutdown()
    }

    @Test func aBodyIsBounded() async throws {
        let port = try EventExchanges(maxBodyBytes: 10)
        let answer = try await port.send(.post, Self.path, "12345678901", headers: ["Content-Type": "text/plain"])
        #expect(answer == .error(.invalidArgument, "the request body is larger than the limit of 10 bytes"))
        await port.shutdown()
    }
}
