import FunctionsRuntime
import FunctionsTesting
import Testing

@testable import ShopFunctions

@Suite struct PurchaseTests {
    private let shop: FunctionsTester

    init() async throws {
        shop = try FunctionsTester(ShopFunctions())
        try await users.document("ada").setData(["name": "Ada"])
        try await put("apple", stock: 10, price: 150)
        try await put("kiwi", stock: 5, price: 160)
    }

    private var users: CollectionReference { shop.firestore.collection("users") }
    private var products: CollectionReference { shop.firestore.collection("products") }
    private var cart: CollectionReference { users.document("ada").collection("cart_items") }

    private func put(_ id: String, stock: Int, price: Int) async throws {
        try await products.document(id).setData(
            from: Product(
                name: id, desc: "Fresh.", price: price, stock: stock, imageURL: "https://shop.example/p.jpg",
                publishedTime: Timestamp(seconds: 0, nanoseconds: 0), owner: users.document("owner")))
    }

    private func put(_ product: String, _ quantity: any FieldInput, line: String? = nil) async throws {
        try await cart.document(line ?? product).setData(
            ["product": products.document(product), "quantity": quantity])
    }

    private func purchase(key: String? = nil) async throws -> Purchase.Answer {
        try await shop.call("purchase", as: .user("ada"), idempotencyKey: key)
    }

    @Test func aRequestIDIsOnePurchase() async throws {
        try await put("apple", 3)
        let request = Purchase.Request(requestID: "4711")
        let first: Purchase.Answer = try await shop.call("purchase", request, as: .user("ada"))
        try await put("apple", 3)
        let again: Purchase.Answer = try await shop.call("purchase", request, as: .user("ada"))
        #expect(again.orderID == first.orderID)
        #expect(try await stock("apple") == 7)
    }

    private func stock(_ product: String) async throws -> Int {
        try await products.document(product).getDocument().get("stock", as: Int.self)
    }

    private func refusal() async throws -> HttpsError {
        do {
            _ = try await purchase()
        } catch let error as HttpsError {
            return error
        }
        throw TestFailure()
    }

    private struct TestFailure: Error {}

    @Test func cartStockAndOrderChangeTogether() async throws {
        try await put("apple", 3)
        try await put("kiwi", 2)
        let answer = try await purchase()
        #expect(try await stock("apple") == 7)
        #expect(try await stock("kiwi") == 3)
        #expect(try await cart.getDocuments().isEmpty)
        let order = try await users.document("ada").collection("orders").document(answer.orderID)
            .getDocument(as: Order.self).data
        #expect(
            Set(order.snapshotProducts.map { "\($0.id) \($0.quantity) \($0.price)" }) == ["apple 3 150", "kiwi 2 160"])
        #expect(order.purchaseTime != nil)
    }

    @Test func twoLinesOfOneProductCountTogether() async throws {
        try await put("kiwi", 3, line: "a")
        try await put("kiwi", 3, line: "b")
        #expect(try await refusal().details?["reason"] == "out-of-stock")
        try await put("kiwi", 2, line: "b")
        _ = try await purchase()
        #expect(try await stock("kiwi") == 0)
    }

    @Test func nobodyBuysWithoutSigningIn() async throws {
        await #expect { let _: JSONValue = try await shop.call("purchase") } throws: {
            ($0 as? HttpsError)?.code == .unauthenticated
        }
    }

    @Test func emptyCartIsRefused() async throws { #expect(try await refusal().code == .failedPrecondition) }

    @Test(arguments: [nil, 1, -1]) func unknownUserIsRefused(quantity: Int?) async throws {
        if let quantity { try await put("apple", quantity) }
        try await users.document("ada").delete()
        let error = try await refusal()
        #expect(error.code == .failedPrecondition && error.message == "The user ada doesn't exist.")
    }

    @Test(arguments: [0, -1, Int.min]) func quantityMustBePositive(quantity: Int) async throws {
        try await put("apple", quantity)
        let error = try await refusal()
        #expect(error.code == .failedPrecondition)
        #expect(error.details == ["reason": "bad-quantity", "product": "apple"])
        #expect(try await stock("apple") == 10)
    }

    @Test func quantityMustBeAnInteger() async throws {
        for quantity in [1.5, "2", FieldValue.null] as [any FieldInput] {
            try await put("apple", quantity)
            #expect(try await refusal().details?["reason"] == "bad-quantity")
        }
    }

    @Test func quantitiesThatOverflowTogetherAreRefused() async throws {
        try await put("apple", Int.max, line: "a")
        try await put("apple", Int.max, line: "b")
        #expect(try await refusal().details?["reason"] == "bad-quantity")
    }

    @Test func goneProductIsNamedAndNothingChanges() async throws {
        try await put("apple", 1)
        try await put("pear", 1)
        let error = try await refusal()
        #expect(error.details == ["reason": "product-gone", "product": "pear"])
        #expect(try await stock("apple") == 10)
        #expect(try await cart.getDocuments().count == 2)
    }

    @Test func lineWithoutAProductIsNamed() async throws {
        try await cart.document("odd").setData(["quantity": 1])
        #expect(try await refusal().details == ["reason": "no-product", "cartItem": "odd"])
    }

    @Test func documentOfTheBuyersOwnIsNoProduct() async throws {
        let forged = cart.document("apple")
        try await forged.setData([
            "product": forged, "quantity": 1, "name": "Apple", "desc": "", "price": 1, "stock": 99, "imageURL": "",
            "publishedTime": Timestamp(seconds: 0, nanoseconds: 0), "owner": users.document("owner"),
        ])
        #expect(try await refusal().details == ["reason": "no-product", "cartItem": "apple"])
    }

    @Test func sameKeyIsOnePurchaseAndTheSameAnswer() async throws {
        try await put("apple", 1)
        let first = try await purchase(key: "k")
        let again = try await purchase(key: "k")
        #expect(first.orderID == again.orderID)
        #expect(try await stock("apple") == 9)
    }

    @Test func manyBuyersOfFewPiecesNeverOversell() async throws {
        for number in 0..<20 {
            let buyer = users.document("buyer\(number)")
            try await buyer.setData(["name": "B"])
            try await buyer.collection("cart_items").document("x").setData(
                ["product": products.document("kiwi"), "quantity": 1])
        }
        let sold = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<20 {
                group.addTask { [shop] in
                    let answer: Purchase.Answer? = try? await shop.call("purchase", as: .user("buyer\(number)"))
                    return answer != nil
                }
            }
            return await group.reduce(into: 0) { count, succeeded in count += succeeded ? 1 : 0 }
        }
        #expect(sold == 5)
        #expect(try await stock("kiwi") == 0)
    }
}
