import Foundation
import FunctionsRuntime
import FunctionsTesting
@testable import ShopFunctions
import Testing

/// The shop's rules, through all that a client can send: batches, transactions, transforms, masks and queries.
@Suite struct ShopRulesTests {
    private let tester: FunctionsTester
    private let ada: Firestore
    private let bob: Firestore
    private let nobody: Firestore

    init() async throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        tester = try FunctionsTester(ShopFunctions(), rules: root.appending(path: "firestore.rules").path)
        (ada, bob) = (tester.firestore(as: .user("ada")), tester.firestore(as: .user("bob")))
        nobody = tester.firestore(as: .nobody)
        let owner = tester.firestore.document("users/ada")
        try await tester.firestore.document("products/p").setData(["owner": owner, "price": 3, "stock": 1])
        try await tester.firestore.document("users/ada/orders/o").setData(["total": 3])
    }

    private func expectRefusal(
        _ work: () async throws -> Void, at location: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: DocumentError.self, sourceLocation: location) { try await work() }
        #expect(error?.code == .permissionDenied, sourceLocation: location)
    }

    private func item(_ firestore: Firestore, _ quantity: Int = 1) -> [String: Any?] {
        ["quantity": quantity, "product": firestore.document("products/p")]
    }

    @Test func aBatchIsAllOrNothing() async throws {
        let batch = ada.batch()
        try batch.setData(item(ada), forDocument: ada.document("users/ada/cart_items/1"))
        try batch.setData(item(ada), forDocument: ada.document("users/bob/cart_items/1"))
        await expectRefusal { try await batch.commit() }
        #expect(try await tester.firestore.document("users/ada/cart_items/1").getDocument().exists == false)
        let own = ada.batch()
        try own.setData(item(ada), forDocument: ada.document("users/ada/cart_items/1"))
        try own.updateData(["price": 4], forDocument: ada.document("products/p"))
        try await own.commit()
        #expect(try await tester.firestore.document("products/p").getDocument().price?.intValue == 4)
    }

    @Test func transformsAndMasksAreDecidedByTheirResult() async throws {
        let first = ada.document("users/ada/cart_items/1")
        try await first.setData(item(ada, 2))
        try await first.updateData(["quantity": FieldValue.increment(-1)])
        await expectRefusal { try await first.updateData(["quantity": FieldValue.increment(-1)]) }
        await expectRefusal { try await first.updateData(["quantity": FieldValue.delete()]) }
        await expectRefusal { try await first.updateData(["product": FieldValue.serverTimestamp()]) }
        try await first.updateData(["note": "gift"])
        #expect(try await tester.firestore.document("users/ada/cart_items/1").getDocument().quantity?.intValue == 1)
        // The owner of a product stays.
        try await ada.document("products/p").updateData(["price": 5])
        await expectRefusal { try await ada.document("products/p").updateData(["owner": ada.document("users/bob")]) }
        await expectRefusal { try await bob.document("products/p").updateData(["price": 0]) }
        await expectRefusal { try await ada.document("products/p").setData(["price": 1]) }
    }

    @Test func transactionsAreUnderTheRules() async throws {
        try await ada.runTransaction { transaction in
            let price = try await transaction.getDocument(ada.document("products/p")).price?.intValue ?? 0
            try transaction.updateData(["price": price * 2], forDocument: ada.document("products/p"))
        }
        #expect(try await tester.firestore.document("products/p").getDocument().price?.intValue == 6)
        await expectRefusal {
            try await bob.runTransaction { transaction in
                _ = try await transaction.getDocument(bob.document("users/ada"))
            }
        }
        await expectRefusal {
            try await bob.runTransaction { transaction in
                _ = try await transaction.getDocument(bob.document("products/p"))
                try transaction.deleteDocument(bob.document("products/p"))
            }
        }
    }

    @Test func queriesAreUnderTheRules() async throws {
        #expect(try await ada.collection("users/ada/orders").getDocuments().count == 1)
        #expect(try await ada.collection("products").whereField("price", isGreaterThan: 1).getDocuments().count == 1)
        #expect(try await ada.collection("products").count.getAggregation().count == 1)
        await expectRefusal { _ = try await bob.collection("users/ada/orders").getDocuments() }
        await expectRefusal { _ = try await ada.collection("users").getDocuments() }
        await expectRefusal { _ = try await nobody.collection("products").getDocuments() }
        await expectRefusal { _ = try await nobody.collection("products").count.getAggregation() }
        await expectRefusal { _ = try await ada.collectionGroup("orders").getDocuments() }
    }

    @Test func preconditionsTellNothingOfWhatMayNotBeWritten() async throws {
        // Whether the document exists or not, the answer is the same.
        for path in ["users/ada/orders/o", "users/ada/orders/none"] {
            await expectRefusal { try await bob.document(path).updateData(["total": 0]) }
            await expectRefusal { try await bob.document(path).create(["total": 0]) }
            await expectRefusal { try await bob.document(path).delete() }
        }
    }
}
