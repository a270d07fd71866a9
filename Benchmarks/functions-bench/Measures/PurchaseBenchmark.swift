import Foundation

/// Measures durable purchases of 64 clients, beside the same reads and writes straight on SQLite.
struct PurchaseBenchmark: Benchmark {
    static let name = "purchase"

    var pace: Pace

    /// The sum over all rounds of one kind of purchase.
    private struct Total {
        var ours = LoadReport()
        var reference = (operations: 0, elapsed: 0.0, cpu: 0.0)

        var referenceRate: Double { Double(reference.operations) / reference.elapsed }
        var referenceCPU: Double { reference.cpu / Double(reference.operations) }
    }

    func run(in directory: URL) async throws -> Section {
        try await HostProcess.with(["ShopFunctions"], in: directory) { host in
            let perClient = pace.count(60, quick: 20)
            let shop = try await ShopData(host, buyersPerClient: perClient)
            let direct = try SQLitePurchases(
                file: directory.appendingPathComponent("direct.sqlite"), buyers: shop.buyers.count)
            // These purchases fail because the carts are empty, but they verify each token once, as earlier calls of a
            // phone do.
            try await shop.purchase(expecting: 400).check()

            var section = Section(
                "Purchase, durable, \(ShopData.clients) clients",
                notes: [
                    "reference: the same reads and writes straight on SQLite, 64 in a commit, in one process",
                    "ours: HTTP, a token, a worker and a serializable transaction for each",
                ])
            let watch = Task { try await host.child.tree.peakResidentBytes() }
            defer { watch.cancel() }
            var totals: [ShopData.Products: Total] = [:]
            for _ in 0..<pace.rounds {
                for products in ShopData.Products.allCases {
                    try await round(products, shop, direct, &totals[products, default: Total()])
                }
            }
            for products in ShopData.Products.allCases {
                guard let total = totals[products] else { continue }
                add(products, total, to: &section)
                let sold = try await shop.sold(products)
                if sold != total.ours.operations {
                    section.fail("\(products.rawValue): \(total.ours.operations) purchases, but \(sold) items sold")
                }
            }
            if let separate = totals[.separate], let hot = totals[.hot] {
                section.add(
                    Row(
                        "rate, hot beside separate", .perSecond(hot.ours.perSecond),
                        beside: .perSecond(separate.ours.perSecond), aim: .ratioAtLeast(1.0 / 3)))
            }
            watch.cancel()
            section.add(
                Row(
                    "peak memory with \(ShopData.clients) callers", .bytes(try await watch.value),
                    aim: .atMost(.bytes(200_000_000))))
            return section
        }
    }

    private func round(
        _ products: ShopData.Products, _ shop: ShopData, _ direct: SQLitePurchases, _ total: inout Total
    ) async throws {
        try await shop.fillCarts(products)
        total.ours.add(try await shop.purchase())
        try direct.fillCarts(products)
        let (elapsed, cpu) = try direct.purchase()
        total.reference.operations += shop.buyers.count
        total.reference.elapsed += elapsed
        total.reference.cpu += cpu
    }

    private func add(_ products: ShopData.Products, _ total: Total, to section: inout Section) {
        section.check(total.ours, products.rawValue)
        section.add(
            Row(
                "\(products.rawValue): rate", .perSecond(total.ours.perSecond),
                beside: .perSecond(total.referenceRate), aim: products == .separate ? .ratioAtLeast(0.5) : nil))
        section.add(
            Row(
                "\(products.rawValue): CPU each", .microseconds(total.ours.cpuPerOperation),
                beside: .microseconds(total.referenceCPU)))
        for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
            section.add(Row("\(products.rawValue): \(name)", .milliseconds(total.ours.percentile(part))))
        }
    }
}
