import NIOCore

/// The shop's documents for the purchases: buyers, their carts, and products that never sell out.
struct ShopData: Sendable {
    /// The products in the buyers' carts.
    enum Products: String, CaseIterable, Sendable {
        /// Each client buys its own product.
        case separate = "separate products"
        /// All clients buy the same product.
        case hot = "one hot product"
    }

    static let clients = 64

    let host: HostProcess
    let buyers: [HostProcess.User]

    /// Signs up the buyers, and writes their documents and the products.
    init(_ host: HostProcess, buyersPerClient: Int) async throws {
        self.host = host
        buyers = try await host.signUp(Self.clients * buyersPerClient)
        let documents = Documents(port: host.ports.firestore)
        try await documents.store(
            (0..<Self.clients).map { Documents.set("products/\(Self.product($0))", Documents.product($0)) }
                + [Documents.set("products/hot", Documents.product(Self.clients))]
                + buyers.map { Documents.set("users/\($0.localId)", #""name":{"stringValue":"A buyer"}"#) })
    }

    /// Puts one item of a product into each buyer's empty cart.
    func fillCarts(_ products: Products) async throws {
        let writes = buyers.enumerated().map { index, buyer in
            let product = products == .hot ? "hot" : Self.product(index % Self.clients)
            return Documents.set(
                "users/\(buyer.localId)/cart_items/line",
                """
                "product":{"referenceValue":"\(Documents.root)/products/\(product)"},"quantity":{"integerValue":"1"}
                """)
        }
        try await Documents(port: host.ports.firestore).store(writes)
    }

    /// Lets all buyers purchase once, 64 of them at a time.
    ///
    /// - Parameter status: the expected status of a purchase: 200, or 400 if the carts are empty.
    func purchase(expecting status: Int = 200) async throws -> LoadReport {
        let port = host.ports.functions
        let requests = buyers.map {
            Requests(port: port, token: $0.idToken).post(HostProcess.path("purchase"), #"{"data":null}"#)
        }
        // Dealt in the same order as the products, so that the buyers of one client buy the same product.
        let callers = ListCaller.dealt(requests, to: Self.clients) { $0.status == status }
        return try await Load.runToEnd(callers, to: port, of: host.child.tree)
    }

    /// The number of items sold of the given kind of products.
    func sold(_ products: Products) async throws -> Int {
        let documents = Documents(port: host.ports.firestore)
        let names = products == .hot ? ["hot"] : (0..<Self.clients).map(Self.product)
        var sold = 0
        for name in names {
            let answer = try await Load.ask(documents.get("products/\(name)"), of: host.ports.firestore)
            guard let stock = answer.text(of: "integerValue", after: "stock").flatMap({ Int($0) }) else {
                throw LoadError("the product \(name): \(answer.excerpt)")
            }
            sold += Documents.stock - stock
        }
        return sold
    }

    private static func product(_ client: Int) -> String { "p\(client)" }
}
