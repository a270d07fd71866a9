import Foundation
import GRDB

/// The reads and writes of a purchase straight on SQLite: an upper bound for any store on top of it.
///
/// One process, one connection, WAL with a sync at each commit, 64 purchases in a commit, documents as JSON under their
/// paths, and nothing else: no index, no outbox, no conflicts, no network.
struct SQLitePurchases: Sendable {
    private struct Product: Codable {
        var name: String
        var desc: String
        var price: Int
        var stock: Int
        var imageURL: String
        var publishedTime: String
        var owner: String
    }

    private struct CartItem: Codable {
        var product: String
        var quantity: Int
    }

    private struct Order: Codable {
        var purchaseTime: Double
        var snapshotProducts: [Line]

        struct Line: Codable {
            var id: String
            var name: String
            var desc: String
            var price: Int
            var owner: String
            var imageURL: String
            var quantity: Int
        }
    }

    private let queue: DatabaseQueue
    private let buyers: Int
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()

    init(file: URL, buyers: Int) throws {
        self.buyers = buyers
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            try database.execute(
                sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384")
        }
        queue = try DatabaseQueue(path: file.path, configuration: configuration)
        try queue.write { database in
            try database.execute(sql: "CREATE TABLE documents (path TEXT PRIMARY KEY, json BLOB) WITHOUT ROWID")
            for client in 0...ShopData.clients {
                let product = Product(
                    name: "Cup \(client)", desc: "Porcelain, 80 ml, for an espresso", price: 1280,
                    stock: Documents.stock, imageURL: "https://shop.example/images/\(client).jpg",
                    publishedTime: "2026-01-02T03:04:05.678901Z", owner: "users/seller")
                try put(product, at: "products/p\(client)", in: database)
            }
            for buyer in 0..<buyers { try put(["name": "A buyer"], at: "users/u\(buyer)", in: database) }
        }
    }

    func fillCarts(_ products: ShopData.Products) throws {
        try queue.write { database in
            for buyer in 0..<buyers {
                let product = products == .hot ? ShopData.clients : buyer % ShopData.clients
                try put(
                    CartItem(product: "products/p\(product)", quantity: 1), at: "users/u\(buyer)/cart_items/line",
                    in: database)
            }
        }
    }

    /// Lets all buyers purchase once, 64 of them in each commit.
    ///
    /// - Returns: elapsed seconds, and seconds of CPU.
    func purchase() throws -> (elapsed: Double, cpu: Double) {
        let start = ContinuousClock.now
        let cpu = OwnProcess.cpuSeconds()
        for first in stride(from: 0, to: buyers, by: ShopData.clients) {
            try queue.write { database in
                for buyer in first..<min(first + ShopData.clients, buyers) { try purchase(buyer, in: database) }
            }
        }
        return ((ContinuousClock.now - start).seconds, OwnProcess.cpuSeconds() - cpu)
    }

    private func purchase(_ buyer: Int, in database: Database) throws {
        let user = "users/u\(buyer)"
        _ = try get([String: String].self, at: user, in: database)
        // "0" is the character after "/", so this is the range of all documents in the collection.
        let cart = try GRDB.Row.fetchAll(
            database.cachedStatement(sql: "SELECT path, json FROM documents WHERE path > ? AND path < ?"),
            arguments: [user + "/cart_items/", user + "/cart_items0"])
        guard !cart.isEmpty else { throw LoadError("\(user) has an empty cart") }
        var lines: [Order.Line] = []
        for row in cart {
            let item = try decoder.decode(CartItem.self, from: row[1])
            var product = try get(Product.self, at: item.product, in: database)
            product.stock -= item.quantity
            try put(product, at: item.product, in: database)
            lines.append(
                Order.Line(
                    id: item.product, name: product.name, desc: product.desc, price: product.price,
                    owner: product.owner, imageURL: product.imageURL, quantity: item.quantity))
        }
        try put(
            Order(purchaseTime: Date.now.timeIntervalSince1970, snapshotProducts: lines),
            at: "\(user)/orders/\(UUID().uuidString)", in: database)
        for row in cart {
            try database.cachedStatement(sql: "DELETE FROM documents WHERE path = ?")
                .execute(arguments: [row[0] as String])
        }
    }

    private func get<Value: Decodable>(_: Value.Type, at path: String, in database: Database) throws -> Value {
        let statement = try database.cachedStatement(sql: "SELECT json FROM documents WHERE path = ?")
        guard let json = try Data.fetchOne(statement, arguments: [path]) else { throw LoadError("\(path) is missing") }
        return try decoder.decode(Value.self, from: json)
    }

    private func put(_ value: some Encodable, at path: String, in database: Database) throws {
        try database.cachedStatement(
            sql: "INSERT INTO documents VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET json = excluded.json"
        ).execute(arguments: [path, try encoder.encode(value)])
    }
}
