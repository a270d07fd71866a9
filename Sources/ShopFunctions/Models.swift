import FunctionsRuntime

/// `products/{id}`
struct Product: Codable, Sendable {
    var name: String
    var desc: String
    /// In the shop's one currency, whole units.
    var price: Int
    /// Pieces left; never below 0.
    var stock: Int
    var imageURL: String
    var publishedTime: Timestamp
    /// `users/{uid}` of who sells it.
    var owner: DocumentReference
    /// The owner's name, kept as it is there by `syncOwner`.
    var ownerName: String?
}

/// `users/{uid}/orders/{id}`
struct Order: Codable, Sendable {
    @ServerTimestamp var purchaseTime: Timestamp?
    var snapshotProducts: [Line]

    /// A product as it was when it was bought.
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

/// Pieces and money of some lines of an order.
struct Amount: Equatable, Sendable {
    var quantity = 0
    /// In the shop's currency.
    var amount = 0

    /// - Throws: `outOfRange` where it is more than a number holds: a price is its seller's to choose.
    mutating func add(_ line: Order.Line) throws(HttpsError) {
        let (price, isTooDear) = line.price.multipliedReportingOverflow(by: line.quantity)
        let (amount, isTooMuch) = self.amount.addingReportingOverflow(price)
        let (quantity, isTooMany) = self.quantity.addingReportingOverflow(line.quantity)
        guard !isTooDear, !isTooMuch, !isTooMany else {
            throw HttpsError(
                .outOfRange, "\(line.quantity) of \(line.name) at \(line.price) each is more than can be counted.")
        }
        (self.amount, self.quantity) = (amount, quantity)
    }
}
