import FunctionsRuntime

/// `users/{uid}/receipts/{orderID}`
struct Receipt: Codable, Sendable {
    @ServerTimestamp var sentTime: Timestamp?
    /// The total of all lines.
    var amount: Int
    var quantity: Int
    var lines: [Line]

    struct Line: Codable, Sendable {
        var name: String
        var price: Int
        var quantity: Int
    }

    init(_ order: Order) throws {
        lines = order.snapshotProducts.map { Line(name: $0.name, price: $0.price, quantity: $0.quantity) }
        var sum = Amount()
        for line in order.snapshotProducts { try sum.add(line) }
        (amount, quantity) = (sum.amount, sum.quantity)
    }

    /// The payload of the task.
    struct Request: Codable, Sendable {
        var uid: String
        var orderID: String
    }

    /// Writes the receipt of an order.
    ///
    /// - Throws: `notFound` if the order doesn't exist, which a retry won't change.
    static func send(_ request: Request, in transaction: Transaction) async throws {
        let user = transaction.firestore.collection("users").document(request.uid)
        let order = try await transaction.getDocument(
            user.collection("orders").document(request.orderID), as: Order.self)
        try transaction.setData(
            from: try Receipt(order.data), forDocument: user.collection("receipts").document(request.orderID))
    }
}
