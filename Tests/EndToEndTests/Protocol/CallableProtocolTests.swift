import Testing

/// What a callable's requests are answered with: a table of requests and answers.
@Suite(.timeLimit(.minutes(30))) struct CallableProtocolTests {
    struct Row: Sendable {
        var name: String
        var method = "POST"
        var headers = ["Content-Type": "application/json"]
        var body: String
        var status = 200
        var answer: String
    }

    static let badRequest = #"{"error":{"message":"Bad Request","status":"INVALID_ARGUMENT"}}"#
    static let unauthenticated = #"{"error":{"message":"Unauthenticated","status":"UNAUTHENTICATED"}}"#
    static let int64 = #""@type":"type.googleapis.com/google.protobuf.Int64Value""#
    static let uint64 = #""@type":"type.googleapis.com/google.protobuf.UInt64Value""#

    static let accepted: [Row] = [
        Row(name: "an object", body: #"{"data":{"foo":"bar"}}"#, answer: #"{"result":{"foo":"bar"}}"#),
        Row(name: "null", body: #"{"data":null}"#, answer: #"{"result":null}"#),
        Row(name: "text beyond ASCII", body: #"{"data":"購入 🛒 \u00e9"}"#, answer: #"{"result":"購入 🛒 é"}"#),
        Row(
            name: "nested", body: #"{"data":[1,[2,{"a":[true,null,1.5]}]]}"#,
            answer: #"{"result":[1,[2,{"a":[true,null,1.5]}]]}"#),
        Row(name: "a key with escapes", body: #"{"\u0064ata":1}"#, answer: #"{"result":1}"#),
        Row(name: "white space", body: " {\n\t\"data\" :\r\n 1 } \n", answer: #"{"result":1}"#),
        Row(
            name: "parameters of the content type", headers: ["Content-Type": "application/json; charset=utf-8"],
            body: #"{"data":1}"#, answer: #"{"result":1}"#),
        Row(
            name: "a content type in any case", headers: ["content-type": "Application/JSON"], body: #"{"data":1}"#,
            answer: #"{"result":1}"#),
        Row(name: "a small Int64Value", body: #"{"data":{\#(int64),"value":"12"}}"#, answer: #"{"result":12}"#),
        Row(
            name: "a wrapper in a list", body: #"{"data":[{\#(int64),"value":"-7"}]}"#, answer: #"{"result":[-7]}"#),
        Row(
            name: "the largest plain integer", body: #"{"data":9007199254740991}"#,
            answer: #"{"result":9007199254740991}"#),
        Row(
            name: "an integer beyond it", body: #"{"data":9007199254740992}"#,
            answer: #"{"result":{\#(int64),"value":"9007199254740992"}}"#),
        Row(
            name: "the smallest Int64", body: #"{"data":{\#(int64),"value":"-9223372036854775808"}}"#,
            answer: #"{"result":{\#(int64),"value":"-9223372036854775808"}}"#),
        Row(
            name: "a UInt64Value beyond Int64", body: #"{"data":{\#(uint64),"value":"18446744073709551615"}}"#,
            answer: #"{"result":{\#(uint64),"value":"18446744073709551615"}}"#),
    ]

    static let refused: [Row] = [
        Row(name: "GET", method: "GET", body: "", status: 400, answer: badRequest),
        Row(name: "PUT", method: "PUT", body: #"{"data":1}"#, status: 400, answer: badRequest),
        Row(name: "DELETE", method: "DELETE", body: #"{"data":1}"#, status: 400, answer: badRequest),
        Row(name: "no content type", headers: [:], body: #"{"data":1}"#, status: 400, answer: badRequest),
        Row(
            name: "another content type", headers: ["Content-Type": "text/plain"], body: #"{"data":1}"#, status: 400,
            answer: badRequest),
        Row(
            name: "a content type that only begins alike", headers: ["Content-Type": "application/jsonp"],
            body: #"{"data":1}"#, status: 400, answer: badRequest),
        Row(name: "no body", body: "", status: 400, answer: badRequest),
        Row(name: "no data", body: #"{"dat":1}"#, status: 400, answer: badRequest),
        Row(name: "an empty object", body: "{}", status: 400, answer: badRequest),
        Row(name: "another key too", body: #"{"data":1,"extra":2}"#, status: 400, answer: badRequest),
        Row(name: "a list", body: #"[{"data":1}]"#, status: 400, answer: badRequest),
        Row(name: "a text", body: #""data""#, status: 400, answer: badRequest),
        Row(name: "half an object", body: #"{"data":"#, status: 400, answer: badRequest),
        Row(name: "two objects", body: #"{"data":1}{"data":2}"#, status: 400, answer: badRequest),
        Row(name: "a number with a leading zero", body: #"{"data":01}"#, status: 400, answer: badRequest),
        Row(name: "NaN", body: #"{"data":NaN}"#, status: 400, answer: badRequest),
        Row(name: "a control character in a text", body: "{\"data\":\"a\u{1}b\"}", status: 400, answer: badRequest),
        Row(
            name: "lists nested 10,000 deep",
            body: #"{"data":"# + String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000) + "}",
            status: 400, answer: badRequest),
        Row(
            name: "objects nested 10,000 deep",
            body: #"{"data":"# + String(repeating: #"{"a":"#, count: 10_000) + "1"
                + String(repeating: "}", count: 10_001), status: 400, answer: badRequest),
        Row(
            name: "another scheme of Authorization",
            headers: ["Content-Type": "application/json", "Authorization": "Basic eA=="], body: #"{"data":1}"#,
            status: 401, answer: unauthenticated),
        Row(
            name: "a bearer that is no token",
            headers: ["Content-Type": "application/json", "Authorization": "Bearer x"], body: #"{"data":1}"#,
            status: 401, answer: unauthenticated),
        Row(
            name: "a bad body before a bad token",
            headers: ["Content-Type": "application/json", "Authorization": "Bearer x"], body: #"{"dat":1}"#,
            status: 400, answer: badRequest),
    ]

    @Test func everyRequestHasItsAnswer() async throws {
        try await RunningHost.serving { host in
            for row in Self.accepted + Self.refused {
                let answer = try await host.functions.send(
                    row.method, "/demo-shop/asia-northeast1/echo", headers: row.headers, row.body)
                #expect(answer.status == row.status, "\(row.name)")
                #expect(answer.json == (try JSON(parsing: row.answer)), "\(row.name)")
                #expect(answer["Content-Type"] == "application/json; charset=utf-8", "\(row.name)")
                #expect(answer["Transfer-Encoding"] == nil, "\(row.name)")
            }
        }
    }

    @Test func textThatIsNoUTF8IsRefused() async throws {
        try await RunningHost.serving { host in
            for bytes: [UInt8] in [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80]] {
                let answer = try await host.functions.send(
                    "POST", "/demo-shop/asia-northeast1/echo", headers: ["Content-Type": "application/json"],
                    bytes: Array(#"{"data":""#.utf8) + bytes + Array(#""}"#.utf8))
                #expect(answer.status == 400)
                #expect(answer.text == Self.badRequest)
            }
            try await host.expectEcho()
        }
    }

    @Test func aFunctionWithoutResultAnswersNull() async throws {
        try await RunningHost.serving { host in
            let answer = try await host.call("nothing", "{}")
            #expect(answer.status == 200)
            #expect(answer.text == #"{"result":null}"#)
        }
    }

    @Test func dataOfAnotherShapeIsRefusedWithThePathThatFailed() async throws {
        try await RunningHost.serving { host in
            let good = try await host.call("typed", #"{"items":[{"quantity":2},{"quantity":3}]}"#)
            #expect(good.text == #"{"result":5}"#)
            let bad = try await host.call("typed", #"{"items":[{"quantity":2},{"quantity":"three"}]}"#)
            #expect(bad.status == 400)
            #expect(bad.json["error"]?["status"] == .string("INVALID_ARGUMENT"))
            #expect(bad.json["error"]?["message"]?.text?.contains("items[1].quantity") == true, "\(bad.text)")
        }
    }

    @Test func anUnknownFunctionOrRegionIsNotFound() async throws {
        try await RunningHost.serving { host in
            for path in [
                "/demo-shop/us-central1/none", "/demo-shop/us-central1/echo", "/other/us-central1/nothing", "/",
                "/created",
            ] {
                let answer = try await host.functions.send(
                    "POST", path, headers: ["Content-Type": "application/json"], #"{"data":null}"#)
                #expect(answer.status == 404, "\(path)")
                #expect(answer.json["error"]?["status"] == .string("NOT_FOUND"), "\(path)")
            }
            let trigger = try await host.call("created", "null")
            #expect(trigger.status == 404)
        }
    }

    @Test func aFunctionIsFoundUnderItsCloudNameAndItsOwnDomain() async throws {
        try await RunningHost.serving { host in
            let statuses = [
                "asia-northeast1-demo-shop.cloudfunctions.net": 200, "us-central1-demo-shop.cloudfunctions.net": 404,
                "api.shop.example": 200,
            ]
            for (name, status) in statuses {
                let answer = try await host.functions.send(
                    "POST", "/echo", headers: ["Content-Type": "application/json", "Host": name], #"{"data":1}"#)
                #expect(answer.status == status, "\(name)")
            }
        }
    }
}
