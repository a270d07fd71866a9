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
                    "beside many: among as many other products, which no one buys and the reference doesn't have",
                ])
            let watch = Task { try await host.child.tree.peakResidentBytes() }
            defer { watch.cancel() }
            var sold: [ShopData.Products: Int] = [:]
            for others in [0, pace.count(1_000_000, quick: 100_000)] {
                if others > 0 {
                    let file = directory.appendingPathComponent("products.jsonl")
                    try ProductExport.write(others, to: file)
                    _ = try await DataCopy("import", file, of: host, in: directory)
                }
                var totals: [ShopData.Products: Total] = [:]
                for _ in 0..<pace.rounds {
                    for products in ShopData.Products.allCases {
                        try await round(products, shop, direct, &totals[products, default: Total()])
                    }
                }
                for products in ShopData.Products.allCases {
                    guard let total = totals[products] else { continue }
                    let name = products.rawValue + (others == 0 ? "" : ", beside \(others)")
                    add(name, total, aim: products == .separate && others == 0, to: &section)
                    sold[products, default: 0] += total.ours.operations
                    let count = try await shop.sold(products)
                    if count != sold[products] {
                        section.fail("\(name): \(count) items sold, not \(sold[products] ?? 0)")
                    }
                }
                if let separate = totals[.separate], let hot = totals[.hot] { compare(hot, separate, others, &section) }
                // An import takes memory of its own.
                guard others == 0 else { continue }
                watch.cancel()
                section.add(
                    Row(
                        "peak memory with \(ShopData.clients) callers", .bytes(try await watch.value),
                        aim: .atMost(.bytes(200_000_000))))
            }
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

    private func add(_ name: String, _ total: Total, aim: Bool, to section: inout Section) {
        section.check(total.ours, name)
        section.add(
            Row(
                "\(name): rate", .perSecond(total.ours.perSecond), beside: .perSecond(total.referenceRate),
                aim: aim ? .ratioAtLeast(0.5) : nil))
        section.add(
            Row(
                "\(name): CPU each", .microseconds(total.ours.cpuPerOperation),
                beside: .microseconds(total.referenceCPU), aim: aim ? .ratioAtMost(6) : nil))
        for (percentile, part) in [("p50", 0.5), ("p99", 0.99)] {
            section.add(Row("\(name): \(percentile)", .milliseconds(total.ours.percentile(part))))
        }
    }

    private func compare(_ hot: Total, _ separate: Total, _ others: Int, _ section: inout Section) {
        let name = "hot beside separate" + (others == 0 ? "" : ", beside \(others)")
        section.add(
            Row(
                "\(name): rate", .perSecond(hot.ours.perSecond), beside: .perSecond(separate.ours.perSecond),
                aim: .ratioAtLeast(0.5)))
        section.add(
            Row(
                "\(name): CPU each", .microseconds(hot.ours.cpuPerOperation),
                beside: .microseconds(separate.ours.cpuPerOperation), aim: .ratioAtMost(1.5)))
    }
}
