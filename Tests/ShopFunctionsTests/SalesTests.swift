import FunctionsRuntime
import FunctionsTesting
import Testing

@testable import ShopFunctions

/// The functions that follow a purchase: the sellers' sales and the buyer's receipt.
@Suite struct SalesTests {
    private let shop: FunctionsTester

    init() async throws {
        shop = try FunctionsTester(ShopFunctions())
        let users = shop.firestore.collection("users")
        for (id, name) in [("ada", "Ada"), ("bob", "Bob"), ("eve", "Eve")] {
            try await users.document(id).setData(["name": name])
        }
        for (id, price, owner) in [("cup", 100, "bob"), ("pot", 250, "bob"), ("tea", 30, "eve")] {
            try await shop.firestore.collection("products").document(id).setData(
                from: Product(
                    name: id, desc: "", price: price, stock: 1000, imageURL: "",
                    publishedTime: Timestamp(seconds: 1, nanoseconds: 0), owner: users.document(owner)))
        }
    }

    private func buy(_ wanted: [String: Int]) async throws -> String {
        let cart = shop.firestore.collection("users/ada/cart_items")
        for (product, quantity) in wanted {
            try await cart.document(product).setData([
                "product": shop.firestore.collection("products").document(product), "quantity": quantity,
            ])
        }
        let answer: Purchase.Answer = try await shop.call("purchase", as: .user("ada"))
        return answer.orderID
    }

    private struct Sale: Codable, Equatable, Sendable {
        var orders: Int
        var quantity: Int
        var amount: Int
    }

    private func sales(_ owner: String) async throws -> Sale {
        try await shop.firestore.collection("sales").document(owner).getDocument(as: Sale.self).data
    }

    @Test func salesAreAddedUpForEachOwner() async throws {
        _ = try await buy(["cup": 2, "pot": 1, "tea": 10])
        _ = try await buy(["cup": 1])
        try await shop.deliverAll()
        #expect(try await sales("bob") == Sale(orders: 2, quantity: 4, amount: 550))
        #expect(try await sales("eve") == Sale(orders: 1, quantity: 10, amount: 300))
    }

    @Test func eachOrderHasAReceipt() async throws {
        let order = try await buy(["cup": 2, "tea": 1])
        try await shop.deliverAll()
        let receipt = try await shop.firestore.document("users/ada/receipts/\(order)").getDocument(as: Receipt.self)
            .data
        #expect(receipt.amount == 230)
        #expect(receipt.quantity == 3)
        #expect(Set(receipt.lines.map(\.name)) == ["cup", "tea"])
        #expect(receipt.sentTime != nil)
    }

    @Test func aRefusedPurchaseHasNoReceipt() async throws {
        await #expect(throws: HttpsError.self) { _ = try await buy(["cup": 2000]) }
        try await shop.deliverAll()
        #expect(try await shop.firestore.collection("users/ada/receipts").getDocuments().isEmpty)
        #expect(try await !shop.firestore.document("sales/bob").getDocument().exists)
    }

    @Test func anAmountThatCantBeCountedIsRefused() async throws {
        try await shop.firestore.document("products/cup").updateData(["price": Int.max / 2])
        await #expect { _ = try await buy(["cup": 3]) } throws: { ($0 as? HttpsError)?.code == .outOfRange }
        #expect(try await shop.firestore.collection("users/ada/orders").getDocuments().isEmpty)
    }
}
