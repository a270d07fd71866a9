import FunctionsRuntime

/// Copies the owner's name from `users/{uid}` into the owner's products (`ownerName`), and removes it from them if the
/// user has no name or is gone.
struct OwnerSync {
    private static let batchSize = 200

    var user: DocumentReference

    /// Updates all of the owner's products in batches. Each batch reads the current name, so the last of several
    /// changes wins regardless of the order in which they are handled.
    func run() async throws {
        let owned = user.firestore.collection("products").whereField("owner", isEqualTo: user)
        var query = owned.limit(to: Self.batchSize)
        while true {
            let page = query
            let last = try await user.firestore.runTransaction { transaction -> DocumentSnapshot? in
                let current = try await transaction.getDocument(user)
                let name = current.exists ? try current.get("name", as: String?.self) : nil
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
