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
