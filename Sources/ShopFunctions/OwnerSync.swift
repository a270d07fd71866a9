import FunctionsRuntime

/// Keeps the owner's name in the owner's products (`ownerName`) as it is in `users/{uid}`.
struct OwnerSync {
    private static let batchSize = 200

    var user: DocumentReference

    /// Goes through the owner's products, any number of them, some at a time. Each batch takes the name as it is at that
    /// moment, so that of two changes that follow each other the later one wins, in whatever order they are handled.
    func run() async throws {
        let owned = user.firestore.collection("products").whereField("owner", isEqualTo: user)
        var query = owned.limit(to: Self.batchSize)
        while true {
            let page = query
            let last = try await user.firestore.runTransaction { transaction -> DocumentSnapshot? in
                let name = try await transaction.getDocument(user).get("name", as: String?.self)
                let products = try await transaction.getDocuments(page).documents
                for product in products where try product.get("ownerName", as: String?.self) != name {
                    try transaction.updateData(
                        ["ownerName": name.map { FieldValue(.string($0)) } ?? .delete()], forDocument: product.reference
                    )
                }
                return products.count < Self.batchSize ? nil : products.last
            }
            guard let last else { return }
            query = owned.start(afterDocument: last).limit(to: Self.batchSize)
        }
    }
}
