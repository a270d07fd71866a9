import Testing

/// A buyer with a phone: does what the shop's app does, over the same requests.
struct Shopper: Sendable {
    static let root = "projects/demo-shop/databases/(default)/documents"
    static let admin = ["Authorization": "Bearer owner"]

    let host: RunningHost
    let user: SignedInUser

    /// Signs in, and stores the user's own document unless `withDocument` is false.
    static func signIn(_ host: RunningHost, withDocument: Bool = true) async throws -> Shopper {
        let shopper = Shopper(host: host, user: try await SignedInUser.create(host))
        if withDocument {
            let answer = try await shopper.put("users/\(shopper.user.uid)", #"{"name":{"stringValue":"Taro"}}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
        return shopper
    }

    /// Stores a product as the admin.
    static func stock(
        _ host: RunningHost, _ id: String, _ count: Int, price: Int = 150, owner: String = "seller",
        published: String = "2026-01-01T00:00:00Z"
    ) async throws {
        let answer = try await write(
            host, "products/\(id)",
            """
            {"name":{"stringValue":"\(id)"},"desc":{"stringValue":"Fresh."},"price":{"integerValue":"\(price)"},
            "stock":{"integerValue":"\(count)"},"imageURL":{"stringValue":"https://example.com/p.jpg"},
            "owner":{"referenceValue":"\(root)/users/\(owner)"},"publishedTime":{"timestampValue":"\(published)"}}
            """, admin)
        #expect(answer.status == 200, "\(answer.text)")
    }

    static func write(
        _ host: RunningHost, _ path: String, _ fields: String, _ headers: [String: String]
    ) async throws -> HTTPAnswer {
        try await host.firestore.send("PATCH", "/v1/\(root)/\(path)", headers: headers, #"{"fields":\#(fields)}"#)
    }

    static func read(
        _ host: RunningHost, _ path: String, _ headers: [String: String] = admin
    ) async throws -> HTTPAnswer {
        try await host.firestore.send("GET", "/v1/\(root)/\(path)", headers: headers)
    }

    static func left(_ host: RunningHost, _ id: String) async throws -> Int? {
        try await read(host, "products/\(id)").json["fields"]?["stock"]?["integerValue"]?.integer
    }

    func put(_ path: String, _ fields: String) async throws -> HTTPAnswer {
        try await Self.write(host, path, fields, user.headers)
    }

    /// Puts a product in the cart.
    func take(_ product: String, _ quantity: Int, line: String? = nil) async throws {
        let answer = try await takeAnything(
            line ?? product, product: #"{"referenceValue":"\#(Self.root)/products/\#(product)"}"#,
            quantity: #"{"integerValue":"\#(quantity)"}"#, as: user.headers)
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// Writes a cart line of any values, as the admin: rules would keep most of them from the user.
    func takeAnything(
        _ line: String, product: String?, quantity: String?, as headers: [String: String] = Shopper.admin
    ) async throws -> HTTPAnswer {
        let fields = [product.map { #""product":\#($0)"# }, quantity.map { #""quantity":\#($0)"# }].compactMap { $0 }
        return try await Self.write(
            host, "users/\(user.uid)/cart_items/\(line)", "{\(fields.joined(separator: ","))}", headers)
    }

    func purchase(key: String? = nil, data: String = "null") async throws -> HTTPAnswer {
        var headers = user.headers
        if let key { headers["Idempotency-Key"] = key }
        return try await host.call("purchase", data, region: "asia-northeast1", headers: headers)
    }

    /// The user's documents of a collection, by id.
    func documents(_ collection: String) async throws -> [String: JSON] {
        let answer = try await Self.read(host, "users/\(user.uid)/\(collection)?pageSize=1000")
        #expect(answer.status == 200, "\(answer.text)")
        return (answer.json["documents"]?.list ?? []).reduce(into: [:]) { all, document in
            guard let id = document["name"]?.text?.split(separator: "/").last else { return }
            all[String(id)] = document["fields"]
        }
    }
}

extension JSON {
    /// What an order holds: quantities by product.
    var orderedQuantities: [String: Int] {
        (self["snapshotProducts"]?["arrayValue"]?["values"]?.list ?? []).reduce(into: [:]) { all, line in
            let fields = line["mapValue"]?["fields"]
            guard let id = fields?["id"]?["stringValue"]?.text else { return }
            all[id, default: 0] += fields?["quantity"]?["integerValue"]?.integer ?? 0
        }
    }
}
