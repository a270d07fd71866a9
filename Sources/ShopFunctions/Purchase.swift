import FunctionsRuntime

/// Purchases the content of a user's cart, all of it or nothing.
struct Purchase {
    var buyer: String

    /// The call's data, which may be null.
    struct Request: Codable, Sendable {
        /// Names the purchase: a repeated call with the same id buys nothing and returns the same order.
        var requestID: String?
    }

    struct Answer: Codable, Sendable {
        var orderID: String
    }

    /// - Throws: `failedPrecondition` if the cart is empty or one of its items can't be bought; the details name the
    ///   product.
    func run(in transaction: Transaction) async throws -> Answer {
        let user = transaction.firestore.collection("users").document(buyer)
        let cart = try await transaction.getDocuments(user.collection("cart_items"))
        let items = Result { try quantities(cart.documents) }
        // One read for all that it depends on; a missing user is refused before the faults of a cart.
        let known = try await transaction.getAll([user] + ((try? items.get()) ?? []).map(\.product))
        guard known[0].exists else {
            throw HttpsError(.failedPrecondition, "The user \(buyer) doesn't exist.")
        }
        guard !cart.isEmpty else { throw HttpsError(.failedPrecondition, "The cart is empty.") }

        let wanted = try items.get()
        let products = known.dropFirst()
        var lines: [Order.Line] = []
        for (item, snapshot) in zip(wanted, products) {
            guard snapshot.exists else {
                throw refusal("A product in the cart is no longer sold.", item.product, reason: "product-gone")
            }
            let product = try snapshot.data(as: Product.self)
            guard item.quantity <= product.stock else {
                throw refusal(
                    "Not enough of \(product.name) in stock: \(product.stock) left.", item.product,
                    reason: "out-of-stock", [("stock", .integer(Int64(product.stock)))])
            }
            try transaction.updateData(["stock": product.stock - item.quantity], forDocument: item.product)
            lines.append(
                Order.Line(
                    id: item.product.documentID, name: product.name, desc: product.desc, price: product.price,
                    owner: product.owner, imageURL: product.imageURL, quantity: item.quantity))
        }
        var sum = Amount()
        for line in lines { try sum.add(line) }
        let order = user.collection("orders").document()
        try transaction.enqueue(Receipt.Request(uid: buyer, orderID: order.documentID), to: "sendReceipt")
        try transaction.setData(from: Order(snapshotProducts: lines), forDocument: order)
        for item in cart.documents { try transaction.deleteDocument(item.reference) }
        return Answer(orderID: order.documentID)
    }

    private struct Item {
        var product: DocumentReference
        var quantity: Int
    }

    /// The cart's quantities by product: two items of the same product are added up.
    private func quantities(_ cart: [DocumentSnapshot]) throws -> [Item] {
        var items: [Item] = []
        for line in cart {
            // Only the shop's products: users write their own carts, and could refer to any document with any price.
            guard let product = try? line.get("product", as: DocumentReference.self),
                product == product.firestore.collection("products").document(product.documentID)
            else {
                throw HttpsError(
                    .failedPrecondition, "A cart item has no product.",
                    details: ["reason": "no-product", "cartItem": .string(line.documentID)])
            }
            guard case .integer(let quantity)? = line.get("quantity"), quantity > 0 else {
                throw refusal("The quantity must be a positive integer.", product, reason: "bad-quantity")
            }
            if let index = items.firstIndex(where: { $0.product == product }) {
                let (sum, overflow) = items[index].quantity.addingReportingOverflow(Int(quantity))
                guard !overflow else { throw refusal("The quantity is too large.", product, reason: "bad-quantity") }
                items[index].quantity = sum
            } else {
                items.append(Item(product: product, quantity: Int(quantity)))
            }
        }
        return items
    }

    private func refusal(
        _ message: String, _ product: DocumentReference, reason: String, _ more: [(String, JSONValue)] = []
    ) -> HttpsError {
        let details = [("reason", .string(reason)), ("product", .string(product.documentID))] + more
        return HttpsError(.failedPrecondition, message, details: .object(JSONObject(details)))
    }
}
