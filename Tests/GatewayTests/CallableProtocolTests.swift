import FunctionManifest
import HostTesting
import NIOCore
import Testing
import WorkerProtocol
import WorkerTesting

/// The callable protocol: a table of requests, of what a worker gets of them, and of answers.
@Suite struct CallableProtocolTests {
    struct Row: Sendable {
        var name: String
        var method = "POST"
        var headers = ["Content-Type": "application/json"]
        var body: String
        /// What the worker gets; nil if the request must not reach one.
        var data: String?
        var status = 200
        var answer: String
    }

    static let badRequest = #"{"error":{"message":"Bad Request","status":"INVALID_ARGUMENT"}}"#
    static let unauthenticated = #"{"error":{"message":"Unauthenticated","status":"UNAUTHENTICATED"}}"#

    /// The worker returns the data as it came.
    private static func accepted(
        _ name: String, _ body: String, data: String, headers: [String: String] = ["Content-Type": "application/json"]
    ) -> Row {
        Row(name: name, headers: headers, body: body, data: data, answer: #"{"result":\#(data)}"#)
    }

    private static func refused(
        _ name: String, method: String = "POST", _ body: String = #"{"data":1}"#,
        headers: [String: String] = ["Content-Type": "application/json"]
    ) -> Row {
        Row(name: name, method: method, headers: headers, body: body, status: 400, answer: badRequest)
    }

    private static func unauthenticated(_ name: String, authorization: String) -> Row {
        Row(
            name: name, headers: ["Content-Type": "application/json", "Authorization": authorization],
            body: #"{"data":1}"#, status: 401, answer: unauthenticated)
    }

    static let rows: [Row] = [
        accepted("an object", #"{"data":{"foo":"bar"}}"#, data: #"{"foo":"bar"}"#),
        accepted("null", #"{"data":null}"#, data: "null"),
        accepted("text beyond ASCII", #"{"data":"購入 🛒 \u00e9"}"#, data: #""購入 🛒 \u00e9""#),
        accepted(
            "nested", #"{"data":[1,[2,{"a":[true,null,1.5]}]]}"#, data: #"[1,[2,{"a":[true,null,1.5]}]]"#),
        accepted("a key with escapes", #"{"\u0064ata":1}"#, data: "1"),
        accepted("white space", " {\n\t\"data\" :\r\n 1 } \n", data: "1"),
        accepted(
            "parameters of the content type", #"{"data":1}"#, data: "1",
            headers: ["Content-Type": "application/json; charset=utf-8"]),
        accepted(
            "a content type in any case", #"{"data":1}"#, data: "1", headers: ["content-type": "Application/JSON"]),
        refused("GET", method: "GET", ""),
        refused("PUT", method: "PUT"),
        refused("DELETE", method: "DELETE"),
        refused("no content type", headers: [:]),
        refused("another content type", headers: ["Content-Type": "text/plain"]),
        refused("a content type that only begins alike", headers: ["Content-Type": "application/jsonp"]),
        refused("no body", ""),
        refused("no data", #"{"dat":1}"#),
        refused("an empty object", "{}"),
        refused("another key too", #"{"data":1,"extra":2}"#),
        refused("a list", #"[{"data":1}]"#),
        refused("a text", #""data""#),
        refused("half an object", #"{"data":"#),
        refused("two objects", #"{"data":1}{"data":2}"#),
        refused("a number with a leading zero", #"{"data":01}"#),
        refused("NaN", #"{"data":NaN}"#),
        refused("a control character in a text", "{\"data\":\"a\u{1}b\"}"),
        refused(
            "lists nested 10,000 deep",
            #"{"data":"# + String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000) + "}"),
        refused(
            "objects nested 10,000 deep",
            #"{"data":"# + String(repeating: #"{"a":"#, count: 10_000) + "1" + String(repeating: "}", count: 10_001)),
        refused(
            "an Idempotency-Key that is too long",
            headers: ["Content-Type": "application/json", "Idempotency-Key": String(repeating: "k", count: 257)]),
        Row(
            name: "a compressed body", headers: ["Content-Type": "application/json", "Content-Encoding": "gzip"],
            body: "\u{1F}", status: 400,
            answer: #"{"error":{"message":"The request body is compressed; send it without a Content-Encoding.","#
                + #""status":"INVALID_ARGUMENT"}}"#),
        accepted(
            "a body with a charset for its encoding", #"{"data":1}"#, data: "1",
            headers: ["Content-Type": "application/json", "Content-Encoding": "UTF-8"]),
        accepted(
            "tokens without a value", #"{"data":1}"#, data: "1",
            headers: ["Content-Type": "application/json", "Authorization": "", "X-Firebase-AppCheck": ""]),
        unauthenticated("another scheme of Authorization", authorization: "Basic eA=="),
        unauthenticated("a bearer of a malformed token", authorization: "Bearer x"),
        refused(
            "a bad body before a bad token", #"{"dat":1}"#,
            headers: ["Content-Type": "application/json", "Authorization": "Bearer x"]),
    ]

    @Test(arguments: rows) func everyRequestHasItsAnswer(row: Row) throws {
        try GatewayRing.with([.callable("echo")]) { ring in
            var data: [String] = []
            ring.processes.handler = { invocation in
                data.append(invocation.text)
                invocation.end(invocation.text)
            }
            let client = try ring.send(row.method, GatewayRing.path("echo"), row.headers, row.body)
            let answer = try #require(client.answer)
            #expect(answer.isWhole)
            #expect(answer.status == row.status)
            #expect(answer.body == row.answer)
            #expect(answer["Content-Type"] == "application/json; charset=utf-8")
            #expect(answer["Transfer-Encoding"] == nil)
            #expect(client.received == answer.text)
            #expect(data == (row.data.map { [$0] } ?? []))
            #expect(ring.processes.workers.count == (row.data == nil ? 0 : 1))
        }
    }

    @Test(arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80]] as [[UInt8]])
    func textThatIsNoUTF8IsRefused(bytes: [UInt8]) throws {
        try GatewayRing.with([.callable("echo")]) { ring in
            let client = try ring.connect()
            client.send(
                "POST", GatewayRing.path("echo"), ["Content-Type": "application/json"],
                body: ByteBuffer(bytes: Array(#"{"data":""#.utf8) + bytes + Array(#""}"#.utf8)))
            #expect(client.answer?.status == 400)
            #expect(client.answer?.body == Self.badRequest)
            #expect(ring.processes.workers.isEmpty)
        }
    }

    @Test(arguments: [
        "/demo-shop/us-central1/none", "/demo-shop/asia-northeast1/echo", "/other/us-central1/echo", "/", "/created",
        "/demo-shop/us-central1/created",
    ])
    func anUnknownFunctionOrRegionIsNotFound(path: String) throws {
        try GatewayRing.with([.callable("echo"), .created("created")]) { ring in
            let client = try ring.send("POST", path, ["Content-Type": "application/json"], #"{"data":null}"#)
            #expect(client.answer?.status == 404)
            #expect(
                client.answer?.body
                    == #"{"error":{"message":"There is no function at \#(path).","status":"NOT_FOUND"}}"#)
            #expect(ring.processes.workers.isEmpty)
        }
    }

    @Test(arguments: [
        ("us-central1-demo-shop.cloudfunctions.net", 200), ("asia-northeast1-demo-shop.cloudfunctions.net", 404),
        ("api.shop.example", 200),
    ])
    func aFunctionIsFoundUnderItsCloudNameAndItsOwnDomain(host: String, status: Int) throws {
        try GatewayRing.with([.callable("echo")]) { ring in
            ring.processes.handler = { $0.end($0.text) }
            let client = try ring.send(
                "POST", "/echo", ["Content-Type": "application/json", "Host": host], #"{"data":1}"#)
            #expect(client.answer?.status == status)
        }
    }

    @Test func theWorkerLearnsOfTheCallWhatItMay() throws {
        try GatewayRing.with([.callable("echo", timeoutSeconds: 60)]) { ring in
            let client = try ring.call("echo", "1", ["X-Hello": "there", "Firebase-Instance-ID-Token": "iid"])
            let invocation = try #require(ring.next())
            #expect(invocation.head.timeLeft == 60_000)
            #expect(invocation.head.auth == nil)
            #expect(invocation.head.app == nil)
            #expect(!invocation.head.streams)
            #expect(invocation.head.method == "POST")
            let headers = invocation.head.headers.pairs.map { "\($0.name): \($0.value)" }
            #expect(headers.contains("X-Hello: there") && headers.contains("Firebase-Instance-ID-Token: iid"))
            #expect(client.answer == nil)
            invocation.end("2")
            ring.run()
            #expect(client.answer?.body == #"{"result":2}"#)
        }
    }
}
