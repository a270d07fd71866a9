import TestSupport
import Testing

/// Purchases that are sent again because their answer was lost.
@Suite(.endsHangs) struct IdempotencyTests {
    @Test func oneKeyIsOnePurchaseAndOneAnswer() async throws {
        try await RunningHost.serving([.shop]) { host in
            try await Shopper.stock(host, "kiwi", 5)
            let shopper = try await Shopper.signIn(host)
            try await shopper.take("kiwi", 1)
            let first = try await shopper.purchase(key: "p-1")
            #expect(first.status == 200)
            try await shopper.take("kiwi", 1)
            let again = try await shopper.purchase(key: "p-1")
            #expect(again.status == 200)
            #expect(again.text == first.text)
            #expect(try await Shopper.left(host, "kiwi") == 4)
            #expect(try await shopper.documents("cart_items").count == 1)
            let next = try await shopper.purchase(key: "p-2")
            #expect(next.status == 200)
            #expect(next.text != first.text)
            #expect(try await Shopper.left(host, "kiwi") == 3)
        }
    }

    /// The SDKs for iOS, Android and the web can't send headers.
    @Test func aKeyInTheDataIsOnePurchase() async throws {
        try await RunningHost.serving([.shop]) { host in
            try await Shopper.stock(host, "kiwi", 5)
            let shopper = try await Shopper.signIn(host)
            try await shopper.take("kiwi", 1)
            let first = try await shopper.purchase(data: #"{"requestID":"p-1"}"#)
            #expect(first.status == 200)
            try await shopper.take("kiwi", 1)
            #expect(try await shopper.purchase(data: #"{"requestID":"p-1"}"#).text == first.text)
            #expect(try await Shopper.left(host, "kiwi") == 4)
            #expect(try await shopper.purchase(data: #"{"requestID":1}"#).status == 400)
        }
    }

    @Test func aKeyIsForTheDataItWasFirstSentWith() async throws {
        try await RunningHost.serving([.shop]) { host in
            try await Shopper.stock(host, "kiwi", 5)
            let shopper = try await Shopper.signIn(host)
            try await shopper.take("kiwi", 1)
            #expect(try await shopper.purchase(key: "p").status == 200)
            try await shopper.take("kiwi", 1)
            let other = try await shopper.purchase(key: "p", data: #"{"gift":true}"#)
            #expect(other.status == 400)
            #expect(other.json["error"]?["status"] == .string("INVALID_ARGUMENT"), "\(other.text)")
            #expect(try await Shopper.left(host, "kiwi") == 4)
        }
    }

    @Test func usersDoNotShareKeys() async throws {
        try await RunningHost.serving([.shop]) { host in
            try await Shopper.stock(host, "kiwi", 5)
            var answers: Set<String> = []
            for _ in 0..<2 {
                let shopper = try await Shopper.signIn(host)
                try await shopper.take("kiwi", 1)
                answers.insert(try await shopper.purchase(key: "p").text)
            }
            #expect(answers.count == 2)
            #expect(try await Shopper.left(host, "kiwi") == 3)
        }
    }

    @Test func aRefusalIsNotKept() async throws {
        try await RunningHost.serving([.shop]) { host in
            try await Shopper.stock(host, "kiwi", 1)
            let shopper = try await Shopper.signIn(host)
            try await shopper.take("kiwi", 2)
            #expect(try await shopper.purchase(key: "p").status == 400)
            try await Shopper.stock(host, "kiwi", 2)
            #expect(try await shopper.purchase(key: "p").status == 200)
        }
    }

    @Test func oneKeyAtOnceFromTwoSidesIsOnePurchase() async throws {
        try await RunningHost.serving([.shop]) { host in
            try await Shopper.stock(host, "kiwi", 50)
            let shopper = try await Shopper.signIn(host)
            try await shopper.take("kiwi", 1)
            let texts = try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for _ in 0..<8 { group.addTask { try await shopper.purchase(key: "p") } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1.text) }
            }
            #expect(texts.count == 1, "\(texts)")
            #expect(try await Shopper.left(host, "kiwi") == 49)
            #expect(try await shopper.documents("orders").count == 1)
        }
    }
}
