import Foundation
import Synchronization
import TestSupport
import Testing

/// Purchases while the host and its workers are killed again and again: nothing is sold twice, half or without an order,
/// and what follows from each order happens once.
///
/// `SOAK_SECONDS` makes the storm longer, `SOAK_SEED` repeats one.
@Suite struct PurchaseStormTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["SOAK_SECONDS"].flatMap { Int($0) } ?? 8
    private static let buyers = 12
    private static let products = ["apple", "kiwi", "plum"]
    /// Sold out at some time in a short storm already.
    private static let scarce = "truffle"
    private static let scarceStock = 20
    private static let plentifulStock = 1_000_000

    @Test(.endsHangs(afterWorking: seconds))
    func killsLoseNothingAndSellNothingTwice() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let seed = Self.environment["SOAK_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...999_999)
        print("the storm's seed is \(seed)")
        let host = try await MortalHost([.shop])
        for (number, product) in Self.products.enumerated() {
            try await Shopper.stock(
                host.current, product, Self.plentifulStock, price: 100 + number, owner: "seller\(number % 2)")
        }
        try await Shopper.stock(host.current, Self.scarce, Self.scarceStock, owner: "digger")
        var buyers: [StormBuyer] = []
        for number in 0..<Self.buyers {
            let user = try await Shopper.signIn(host.current).user
            buyers.append(StormBuyer(host: host, user: user, name: "b\(number)", seed: seed &+ UInt64(number) + 1))
        }

        let end = ContinuousClock.now + .seconds(Self.seconds)
        let storm = Storm()
        let (kills, after) = try await withThrowingTaskGroup(of: StormBuyer.self) { group in
            for buyer in buyers {
                group.addTask {
                    var buyer = buyer
                    while !storm.isOver, !Task.isCancelled {
                        let before = buyer.bought.count
                        try await buyer.purchase(from: Self.products + [Self.scarce])
                        storm.note(purchases: buyer.bought.count - before)
                    }
                    return buyer
                }
            }
            var random = SeededGenerator(seed: seed)
            var kills = 0
            while ContinuousClock.now < end {
                try await Bound.pause(milliseconds: Int64.random(in: 50...1500, using: &random))
                if Bool.random(using: &random) {
                    try await host.dieAndReturn()
                } else {
                    for worker in host.workers where Bool.random(using: &random) { kill(worker, SIGKILL) }
                }
                kills += 1
            }
            // A busy machine has done little by then.
            while storm.purchases <= Self.buyers { try await Bound.pause(milliseconds: 50) }
            // The last ones leave something that waits for its time, in a host that goes on.
            while try await !host.hasPlannedRetry {
                for worker in host.workers { kill(worker, SIGKILL) }
                kills += 1
                try await Bound.pause(milliseconds: Int64.random(in: 100...600, using: &random))
            }
            storm.end()
            return (kills, try await group.reduce(into: []) { $0.append($1) })
        }

        var sold: [String: Int] = [:]
        var expected = Ledger()
        for buyer in after {
            let stored = try await buyer.documents("orders")
            expected.add(stored)
            let orders = stored.mapValues(\.orderedQuantities)
            #expect(orders == buyer.bought, "\(buyer.name) was answered otherwise than what is stored")
            for quantities in orders.values { sold.merge(quantities, uniquingKeysWith: +) }
            #expect(try await buyer.documents("cart_items").isEmpty)
        }
        for product in Self.products + [Self.scarce] {
            let stocked = product == Self.scarce ? Self.scarceStock : Self.plentifulStock
            let left = try #require(try await Shopper.left(host.current, product))
            #expect(stocked - left == sold[product, default: 0], "\(product)")
            #expect(left >= 0)
        }
        try await host.settle()
        #expect(try await Ledger.stored(host, buyers: after) == expected)
        let purchases = after.reduce(0) { $0 + $1.bought.count }
        print("\(purchases) purchases through \(kills) kills")
        #expect(kills > 0 && purchases > Self.buyers)
        try await host.end()
    }
}

/// Goes on until it is ended.
private final class Storm: Sendable {
    private let state = Mutex((purchases: 0, hasEnded: false))

    var isOver: Bool { state.withLock { $0.hasEnded } }
    /// The purchases that were answered.
    var purchases: Int { state.withLock { $0.purchases } }

    func note(purchases: Int) { state.withLock { $0.purchases += purchases } }
    func end() { state.withLock { $0.hasEnded = true } }
}
