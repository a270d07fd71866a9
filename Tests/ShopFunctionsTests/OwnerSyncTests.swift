import FunctionsRuntime
import FunctionsTesting
import Testing

@testable import ShopFunctions

@Suite struct OwnerSyncTests {
    private let shop: FunctionsTester

    init() throws { shop = try FunctionsTester(ShopFunctions()) }

    private func names(of owner: String) async throws -> [Value?] {
        let user = shop.firestore.collection("users").document(owner)
        return try await shop.firestore.collection("products").whereField("owner", isEqualTo: user).getDocuments()
            .documents.map { $0.get("ownerName") }
    }

    /// More than fit into a batch, so that there are several pages.
    @Test func allProductsOfAnOwnerTakeTheNewName() async throws {
        let users = shop.firestore.collection("users")
        try await users.document("ada").setData(["name": "Ada"])
        let products = shop.firestore.bulkWriter()
        for number in 0..<450 {
            try await products.setData(
                ["owner": users.document(number % 9 == 0 ? "bob" : "ada"), "ownerName": "Ada"],
                forDocument: shop.firestore.document("products/p\(number)"))
        }
        #expect(await products.close().isEmpty)
        try await users.document("ada").updateData(["name": "Ada L."])
        try await shop.deliverAll()
        #expect(try await names(of: "ada") == Array(repeating: .string("Ada L."), count: 400))
        #expect(try await names(of: "bob") == Array(repeating: .string("Ada"), count: 50))
    }

    @Test func aNameThatGoesIsTakenAway() async throws {
        let user = shop.firestore.document("users/ada")
        try await user.setData(["name": "Ada"])
        try await shop.firestore.document("products/p").setData(["owner": user, "ownerName": "Ada"])
        try await user.updateData(["name": FieldValue.delete()])
        try await shop.deliverAll()
        #expect(try await names(of: "ada") == [nil])
    }

    @Test func theNameOfAUserWhoIsGoneIsTakenAway() async throws {
        let user = shop.firestore.document("users/ada")
        try await user.setData(["name": "Ada"])
        try await shop.firestore.document("products/p").setData(["owner": user, "ownerName": "Ada"])
        try await user.updateData(["name": "Ada L."])
        try await user.delete()
        try await shop.deliverAll()
        #expect(try await names(of: "ada") == [nil])
    }

    /// The handler reads the current name, so the last change wins in any order.
    @Test func theLaterNameWins() async throws {
        let user = shop.firestore.document("users/ada")
        try await user.setData(["name": "Ada"])
        try await shop.firestore.document("products/p").setData(["owner": user])
        for name in ["A", "B", "C"] { try await user.updateData(["name": name]) }
        try await shop.deliverAll()
        #expect(try await names(of: "ada") == [.string("C")])
    }
}
