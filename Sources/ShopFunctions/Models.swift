import FunctionsRuntime

/// `products/{id}`
struct Product: Codable, Sendable {
    var name: String
    var desc: String
    /// Price in whole units of the shop's currency.
    var price: Int
    /// Number in stock; never below 0.
    var stock: Int
    var imageURL: String
    var publishedTime: Timestamp
    /// The seller's document, `users/{uid}`.
    var owner: DocumentReference
    /// The owner's name, kept up to date by `syncOwner`.
    var ownerName: String?
}

/// `users/{uid}/orders/{id}`
struct Order: Codable, Sendable {
    @ServerTimestamp var purchaseTime: Timestamp?
    var snapshotProducts: [Line]

    /// A product as of the purchase.
    struct Line: Codable, Sendable {
        var id: String
        var name: String
        var desc: String
        var price: Int
        var owner: DocumentReference
        var imageURL: String
        var quantity: Int
    }
}

/// Quantity and total of some lines of an order.
struct Amount: Equatable, Sendable {
    var quantity = 0
    /// In the shop's currency.
    var amount = 0

    /// - Throws: `outOfRange` if the total overflows: sellers choose their prices.
    mutating func add(_ line: Order.Line) throws(HttpsError) {
        let (price, isTooDear) = line.price.multipliedReportingOverflow(by: line.quantity)
        let (amount, isTooMuch) = self.amount.addingReportingOverflow(price)
        let (quantity, isTooMany) = self.quantity.addingReportingOverflow(line.quantity)
        guard !isTooDear, !isTooMuch, !isTooMany else {
            throw HttpsError(
                .outOfRange, "\(line.quantity) of \(line.name) at \(line.price) each is too large a total.")
        }
        (self.amount, self.quantity) = (amount, quantity)
    }
}
