import TestSupport
import Testing

/// The purchase, as a phone makes it.
@Suite(.endsHangs) struct PurchaseTests {
    @Test func aPurchaseTakesStockWritesTheOrderAndEmptiesTheCart() async throws {
        try await RunningHost.serving([.shop]) { host in
            let shopper = try await Shopper.signIn(host)
            try await Shopper.stock(host, "apple", 10)
            try await Shopper.stock(host, "kiwi", 5, price: 160)
            try await shopper.take("apple", 3)
            try await shopper.take("kiwi", 2)
            let answer = try await shopper.purchase()
            #expect(answer.status == 200, "\(answer.text)")
            let order = try #require(answer.json["result"]?["orderID"]?.text)
            #expect(try await Shopper.left(host, "apple") == 7)
            #expect(try await Shopper.left(host, "kiwi") == 3)
            let orders = try await shopper.documents("orders")
            #expect(orders.count == 1)
            #expect(orders[order]?.orderedQuantities == ["apple": 3, "kiwi": 2])
            #expect(orders[order]?["purchaseTime"]?["timestampValue"] != nil)
            #expect(try await shopper.documents("cart_items").isEmpty)
        }
    }

    @Test func anOrderKeepsItsProductsAsTheyWere() async throws {
        try await RunningHost.serving([.shop]) { host in
            let shopper = try await Shopper.signIn(host)
            try await Shopper.stock(host, "apple", 10, price: 150)
            try await shopper.take("apple", 1)
            #expect(try await shopper.purchase().status == 200)
            try await Shopper.stock(host, "apple", 9, price: 999)
            let order = try #require(try await shopper.documents("orders").first?.value)
            let line = order["snapshotProducts"]?["arrayValue"]?["values"]?[0]?["mapValue"]?["fields"]
            #expect(line?["price"]?["integerValue"] == .string("150"))
            #expect(line?["desc"]?["stringValue"] == .string("Fresh."))
            #expect(line?["owner"]?["referenceValue"] == .string(Shopper.root + "/users/seller"))
        }
    }

    @Test func twoLinesOfOneProductCountTogether() async throws {
        try await RunningHost.serving([.shop]) { host in
            let shopper = try await Shopper.signIn(host)
            try await Shopper.stock(host, "apple", 5)
            try await shopper.take("apple", 3, line: "a")
            try await shopper.take("apple", 3, line: "b")
            #expect(try await shopper.purchase().status == 400)
            #expect(try await Shopper.left(host, "apple") == 5)
            try await shopper.take("apple", 2, line: "b")
            #expect(try await shopper.purchase().status == 200)
            #expect(try await Shopper.left(host, "apple") == 0)
            #expect(try await shopper.documents("orders").values.map(\.orderedQuantities) == [["apple": 5]])
        }
    }

    @Test func tenAtOnceForFiveAreFive() async throws {
        try await RunningHost.serving([.shop]) { host in
            try await Shopper.stock(host, "last", 5)
            var shoppers: [Shopper] = []
            for _ in 0..<10 {
                let shopper = try await Shopper.signIn(host)
                try await shopper.take("last", 1)
                shoppers.append(shopper)
            }
            let answers = try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for shopper in shoppers { group.addTask { try await shopper.purchase() } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.map(\.status).sorted() == [200, 200, 200, 200, 200, 400, 400, 400, 400, 400])
            for answer in answers where answer.status == 400 {
                #expect(answer.json["error"]?["details"]?["product"] == .string("last"))
            }
            #expect(try await Shopper.left(host, "last") == 0)
        }
    }

    @Test func whatIsSoldIsThereAfterARestart() async throws {
        let directory = try HostDirectory()
        try directory.configure([.shop])
        let first = try await RunningHost.start(in: directory)
        let before = try await Shopper.signIn(first)
        try await Shopper.stock(first, "apple", 10)
        try await before.take("apple", 3)
        let answer = try await before.purchase(key: "k")
        #expect(answer.status == 200)
        try await first.kill()
        let second = try await RunningHost.start(in: directory)
        let after = Shopper(host: second, user: before.user)
        #expect(try await after.purchase(key: "k").text == answer.text)
        #expect(try await Shopper.left(second, "apple") == 7)
        #expect(try await after.documents("orders").count == 1)
        try await second.kill()
    }
}
