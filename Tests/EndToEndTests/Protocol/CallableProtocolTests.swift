import TestSupport
import Testing

/// An author's types on the wire. GatewayTests covers what the gateway does by itself.
@Suite(.endsHangs) struct CallableProtocolTests {
    static let badRequest = #"{"error":{"message":"Bad Request","status":"INVALID_ARGUMENT"}}"#
    static let unauthenticated = #"{"error":{"message":"Unauthenticated","status":"UNAUTHENTICATED"}}"#
    static let int64 = #""@type":"type.googleapis.com/google.protobuf.Int64Value""#
    static let uint64 = #""@type":"type.googleapis.com/google.protobuf.UInt64Value""#

    /// Data of a call of `echo`, and the result.
    static let rows: [(name: String, data: String, result: String)] = [
        ("an object", #"{"foo":"bar"}"#, #"{"foo":"bar"}"#),
        ("null", "null", "null"),
        ("text beyond ASCII", #""購入 🛒 \u00e9""#, #""購入 🛒 é""#),
        ("half of a surrogate pair", #""\ud83d, \ud83d\ude00""#, #""\ufffd, 😀""#),
        ("nested", #"[1,[2,{"a":[true,null,1.5]}]]"#, #"[1,[2,{"a":[true,null,1.5]}]]"#),
        ("a small Int64Value", #"{\#(int64),"value":"12"}"#, "12"),
        ("a wrapper in a list", #"[{\#(int64),"value":"-7"}]"#, "[-7]"),
        ("the largest plain integer", "9007199254740991", "9007199254740991"),
        ("an integer beyond it", "9007199254740992", #"{\#(int64),"value":"9007199254740992"}"#),
        (
            "the smallest Int64", #"{\#(int64),"value":"-9223372036854775808"}"#,
            #"{\#(int64),"value":"-9223372036854775808"}"#
        ),
        (
            "a UInt64Value beyond Int64", #"{\#(uint64),"value":"18446744073709551615"}"#,
            #"{\#(uint64),"value":"18446744073709551615"}"#
        ),
    ]

    @Test func authorsTypesAreReadAndWritten() async throws {
        try await RunningHost.serving { host in
            for row in Self.rows {
                let answer = try await host.call("echo", row.data, region: "asia-northeast1")
                #expect(answer.status == 200, "\(row.name)")
                #expect(answer.json == (try JSON(parsing: #"{"result":\#(row.result)}"#)), "\(row.name)")
            }
            let refused = try await host.functions.send(
                "POST", "/demo-shop/asia-northeast1/echo", headers: ["Content-Type": "application/json"],
                #"{"dat":1}"#)
            #expect(refused.status == 400)
            #expect(refused.text == Self.badRequest)
            let nothing = try await host.call("nothing", "{}")
            #expect(nothing.status == 200)
            #expect(nothing.text == #"{"result":null}"#)
            let good = try await host.call("typed", #"{"items":[{"quantity":2},{"quantity":3}]}"#)
            #expect(good.text == #"{"result":5}"#)
            let bad = try await host.call("typed", #"{"items":[{"quantity":2},{"quantity":"three"}]}"#)
            #expect(bad.status == 400)
            #expect(bad.json["error"]?["status"] == .string("INVALID_ARGUMENT"))
            #expect(bad.json["error"]?["message"]?.text?.contains("items[1].quantity") == true, "\(bad.text)")
            let repeated = try await host.call("typed", #"{"items":[{"quantity":2,"quantity":3}]}"#)
            #expect(repeated.status == 400)
            #expect(repeated.json["error"]?["status"] == .string("INVALID_ARGUMENT"))
            #expect(repeated.json["error"]?["message"]?.text?.contains("is repeated") == true, "\(repeated.text)")
        }
    }
}
