import TestSupport
import Testing

/// Purchases that are refused: with what, and that nothing has changed.
@Suite(.endsHangs) struct PurchaseRefusalTests {
    struct Line: Sendable {
        var name: String
        var product: String? = #"{"referenceValue":"\#(Shopper.root)/products/apple"}"#
        var quantity: String?
        /// The product that the details name; nil if they name none.
        var named: String? = "apple"
    }

    static let lines = [
        Line(name: "quantity 0", quantity: #"{"integerValue":"0"}"#),
        Line(name: "a negative quantity", quantity: #"{"integerValue":"-1"}"#),
        Line(name: "a double", quantity: #"{"doubleValue":1.5}"#),
        Line(name: "a whole double", quantity: #"{"doubleValue":2}"#),
        Line(name: "a text", quantity: #"{"stringValue":"2"}"#),
        Line(name: "null", quantity: #"{"nullValue":null}"#),
        Line(name: "no quantity", quantity: nil),
        Line(name: "more than there is", quantity: #"{"integerValue":"11"}"#),
        Line(name: "the largest number", quantity: #"{"integerValue":"9223372036854775807"}"#),
        Line(
            name: "a product that is gone", product: #"{"referenceValue":"\#(Shopper.root)/products/gone"}"#,
            quantity: #"{"integerValue":"1"}"#, named: "gone"),
        Line(name: "no product", product: nil, quantity: #"{"integerValue":"1"}"#, named: nil),
        Line(
            name: "a product's name in place of its reference", product: #"{"stringValue":"products/apple"}"#,
            quantity: #"{"integerValue":"1"}"#, named: nil),
    ]

    @Test func aLineThatCannotBeBoughtIsNamedAndNothingChanges() async throws {
        try await RunningHost.serving([.shop]) { host in
            try await Shopper.stock(host, "apple", 10)
            try await Shopper.stock(host, "kiwi", 5)
            for line in Self.lines {
                let shopper = try await Shopper.signIn(host)
                try await shopper.take("kiwi", 1)
                let stored = try await shopper.takeAnything("bad", product: line.product, quantity: line.quantity)
                #expect(stored.status == 200, "\(stored.text)")
                let answer = try await shopper.purchase()
                #expect(answer.status == 400, "\(line.name): \(answer.text)")
                let error = answer.json["error"]
                #expect(error?["status"] == .string("FAILED_PRECONDITION"), "\(line.name)")
                #expect(error?["details"]?["product"]?.text == line.named, "\(line.name): \(answer.text)")
                #expect(try await shopper.documents("cart_items").count == 2, "\(line.name)")
                #expect(try await shopper.documents("orders").isEmpty, "\(line.name)")
            }
            #expect(try await Shopper.left(host, "apple") == 10)
            #expect(try await Shopper.left(host, "kiwi") == 5)
        }
    }

    @Test func quantitiesThatOverflowTogetherAreRefused() async throws {
        try await RunningHost.serving([.shop]) { host in
            try await Shopper.stock(host, "apple", 10)
            let shopper = try await Shopper.signIn(host)
            try await shopper.take("apple", .max, line: "a")
            try await shopper.take("apple", .max, line: "b")
            let answer = try await shopper.purchase()
            #expect(answer.status == 400)
            #expect(answer.json["error"]?["details"]?["product"] == .string("apple"))
            #expect(try await Shopper.left(host, "apple") == 10)
        }
    }

    @Test func whoIsNotSignedInOrUnknownOrHasAnEmptyCartBuysNothing() async throws {
        try await RunningHost.serving([.shop]) { host in
            let nobody = try await host.call("purchase", "null", region: "asia-northeast1")
            #expect(nobody.status == 401)
            #expect(nobody.json["error"]?["status"] == .string("UNAUTHENTICATED"))
            let unknown = try await Shopper.signIn(host, withDocument: false).purchase()
            #expect(unknown.status == 400)
            #expect(unknown.json["error"]?["status"] == .string("FAILED_PRECONDITION"))
            let empty = try await Shopper.signIn(host).purchase()
            #expect(empty.status == 400)
            #expect(empty.json["error"]?["status"] == .string("FAILED_PRECONDITION"))
        }
    }
}
