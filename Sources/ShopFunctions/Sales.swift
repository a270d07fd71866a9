import FunctionsRuntime

/// Each seller's total sales, in `sales/{ownerID}`: `orders`, `quantity` and `amount`.
struct Sales {
    /// Adds an order to the sales of each seller in it. Uses increments, which read nothing, so concurrent orders of
    /// one seller don't conflict.
    static func record(_ order: Order, in transaction: Transaction) throws {
        let sales = transaction.firestore.collection("sales")
        for (owner, part) in try parts(of: order) {
            try transaction.setData(
                [
                    "orders": FieldValue.increment(1), "quantity": FieldValue.increment(part.quantity),
                    "amount": FieldValue.increment(part.amount),
                ], forDocument: sales.document(owner), merge: true)
        }
    }

    /// The order's totals by seller id.
    static func parts(of order: Order) throws -> [String: Amount] {
        var parts: [String: Amount] = [:]
        for line in order.snapshotProducts { try parts[line.owner.documentID, default: Amount()].add(line) }
        return parts
    }
}
