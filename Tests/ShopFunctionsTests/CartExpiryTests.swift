import FunctionsRuntime
import FunctionsTesting
import Testing

@testable import ShopFunctions

@Suite struct CartExpiryTests {
    private let shop: FunctionsTester

    init() throws { shop = try FunctionsTester(ShopFunctions()) }

    private func fill() async throws {
        let writer = shop.firestore.bulkWriter()
        for number in 0..<650 {
            try await writer.setData(
                ["quantity": 1], forDocument: shop.firestore.document("users/u\(number % 7)/cart_items/i\(number)"))
        }
        #expect(await writer.close().isEmpty)
    }

    private func count() async throws -> Int {
        try await shop.firestore.collectionGroup("cart_items").getDocuments().documents.count
    }

    @Test func itemsUntouchedForThirtyDaysGo() async throws {
        try await fill()
        let kept = CartExpiry.kept.components.seconds
        let item = try await shop.firestore.document("users/u0/cart_items/i0").getDocument()
        let now = try #require(item.updateTime).seconds
        try await shop.run("expireCarts", scheduleTime: Timestamp(seconds: now + kept - 60, nanoseconds: 0))
        #expect(try await count() == 650)
        try await shop.run("expireCarts", scheduleTime: Timestamp(seconds: now + kept + 60, nanoseconds: 0))
        #expect(try await count() == 0)
    }
}
