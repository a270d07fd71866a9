/// What the shop's functions should have made of orders: the sellers' sales, and a receipt for each.
struct Ledger: Equatable {
    struct Sales: Equatable {
        var orders = 0
        var quantity = 0
        var amount = 0
    }

    /// By the sellers' ids.
    var sales: [String: Sales] = [:]
    /// The ids of orders with a receipt, each with its amount.
    var receipts: [String: Int] = [:]

    init() {}

    /// - Parameter orders: their fields, by id.
    mutating func add(_ orders: [String: JSON]) {
        for (id, order) in orders {
            var parts: [String: Sales] = [:]
            for line in order["snapshotProducts"]?["arrayValue"]?["values"]?.list ?? [] {
                let fields = line["mapValue"]?["fields"]
                guard let owner = fields?["owner"]?["referenceValue"]?.text?.split(separator: "/").last,
                    let price = fields?["price"]?["integerValue"]?.integer,
                    let quantity = fields?["quantity"]?["integerValue"]?.integer
                else { continue }
                parts[String(owner), default: Sales()].quantity += quantity
                parts[String(owner), default: Sales()].amount += price * quantity
            }
            for (owner, part) in parts {
                sales[owner, default: Sales()].orders += 1
                sales[owner, default: Sales()].quantity += part.quantity
                sales[owner, default: Sales()].amount += part.amount
            }
            receipts[id] = parts.values.reduce(0) { $0 + $1.amount }
        }
    }

    /// What is stored.
    static func stored(_ host: MortalHost, buyers: [StormBuyer]) async throws -> Ledger {
        var ledger = Ledger()
        let page = try await host.persist { try await Shopper.read($0, "sales?pageSize=300") }
        for document in page.json["documents"]?.list ?? [] {
            guard let id = document["name"]?.text?.split(separator: "/").last else { continue }
            func number(_ field: String) -> Int { document["fields"]?[field]?["integerValue"]?.integer ?? -1 }
            ledger.sales[String(id)] = Sales(
                orders: number("orders"), quantity: number("quantity"), amount: number("amount"))
        }
        for buyer in buyers {
            for (id, receipt) in try await buyer.documents("receipts") {
                ledger.receipts[id] = receipt["amount"]?["integerValue"]?.integer
            }
        }
        return ledger
    }
}
