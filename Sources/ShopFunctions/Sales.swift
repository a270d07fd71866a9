import FunctionsRuntime

/// What each seller has sold, added up in `sales/{ownerID}`: `orders`, `quantity` and `amount`.
struct Sales {
    /// Adds an order to the sales of everybody who sold a part of it. Counted by increments, which read nothing, so that
    /// a seller of many orders at a time makes none of them wait.
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

    /// What of an order is whose, by the sellers' ids.
    static func parts(of order: Order) throws -> [String: Amount] {
        var parts: [String: Amount] = [:]
        for line in order.snapshotProducts { try parts[line.owner.documentID, default: Amount()].add(line) }
        return parts
    }
}
