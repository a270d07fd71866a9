import TestSupport
import Testing

/// One buyer in a storm: fills a cart, purchases until there is an answer, and looks at the result.
struct StormBuyer {
    let host: MortalHost
    let user: SignedInUser
    let name: String
    var random: SeededGenerator
    /// What the answered purchases must have bought, by order.
    private(set) var bought: [String: [String: Int]] = [:]
    private var keys = 0

    init(host: MortalHost, user: SignedInUser, name: String, seed: UInt64) {
        self.host = host
        self.user = user
        self.name = name
        random = SeededGenerator(seed: seed)
    }

    mutating func purchase(from products: [String]) async throws {
        var wanted: [String: Int] = [:]
        for product in products.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)) {
            wanted[product] = Int.random(in: 1...3, using: &random)
        }
        for (product, quantity) in wanted {
            let answer = try await host.persist { host in
                try await Shopper(host: host, user: user).takeAnything(
                    product, product: #"{"referenceValue":"\#(Shopper.root)/products/\#(product)"}"#,
                    quantity: #"{"integerValue":"\#(quantity)"}"#, as: user.headers)
            }
            #expect(answer.status == 200, "\(answer.text)")
        }
        keys += 1
        let answer = try await answer(toKey: "\(name)-\(keys)")
        let cart = try await documents("cart_items")
        switch answer.status {
        case 200:
            let order = try #require(answer.json["result"]?["orderID"]?.text)
            #expect(bought.updateValue(wanted, forKey: order) == nil, "two keys were answered with order \(order)")
            #expect(cart.isEmpty, "\(name) has an order and a cart")
            guard Bool.random(using: &random) else { return }
            let again = try await self.answer(toKey: "\(name)-\(keys)")
            #expect(again.text == answer.text)
        case 400:
            #expect(answer.json["error"]?["details"]?["reason"] == .string("out-of-stock"), "\(answer.text)")
            #expect(Set(cart.keys) == Set(wanted.keys), "a refused purchase took from the cart")
            for product in cart.keys {
                _ = try await host.persist { host in
                    try await host.firestore.send(
                        "DELETE", "/v1/\(Shopper.root)/users/\(user.uid)/cart_items/\(product)", headers: user.headers)
                }
            }
        default:
            Issue.record("a purchase was answered \(answer.status): \(answer.text)")
        }
    }

    /// The same purchase, sent until the answer isn't one that asks for a retry.
    private func answer(toKey key: String) async throws -> HTTPAnswer {
        while true {
            let answer = try await host.persist { host in
                try await Shopper(host: host, user: user).purchase(key: key)
            }
            // How far a killed worker came is unknown.
            guard [409, 500, 503].contains(answer.status) else { return answer }
        }
    }

    /// - Returns: the buyer's documents of a collection.
    func documents(_ collection: String) async throws -> [String: JSON] {
        var found: [String: JSON] = [:]
        var token: String?
        repeat {
            let query = "?pageSize=300" + (token.map { "&pageToken=\($0)" } ?? "")
            let page = try await host.persist { host in
                try await Shopper.read(host, "users/\(user.uid)/\(collection)" + query)
            }
            for document in page.json["documents"]?.list ?? [] {
                guard let id = document["name"]?.text?.split(separator: "/").last else { continue }
                found[String(id)] = document["fields"]
            }
            token = page.json["nextPageToken"]?.text
        } while token?.isEmpty == false
        return found
    }
}
