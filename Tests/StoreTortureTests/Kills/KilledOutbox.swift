import CommitPipeline
import EmbeddedStorage
import StorageEngine
import DocumentModel
import DocumentStore
import Foundation
import StoreTorture

/// Looks at what a process left that was killed among its orders and deliveries.
struct KilledOutbox {
    private let directory: String
    private let kind: EmbeddedEngineKind
    /// All orders that were ever acknowledged.
    private var acknowledged: Set<String> = []
    private(set) var orders = 0

    init(_ kind: EmbeddedEngineKind, directory: String) throws {
        self.kind = kind
        self.directory = directory
        // The process that is killed goes on with what is there.
        try EmbeddedStore(in: directory, engine: kind).open().close()
    }

    struct Anomaly: Error, CustomStringConvertible {
        var description: String
    }

    /// - Parameters:
    ///   - orders: the orders that were acknowledged to the killed process.
    ///   - isLast: whether what is left is worked on until there is nothing.
    /// - Throws: `Anomaly` if an effect is missing, or happened twice, or never will.
    mutating func examine(_ orders: some Sequence<String>, isLast: Bool) async throws {
        acknowledged.formUnion(orders)
        let engine = try EmbeddedStore(in: directory, engine: kind).open()
        let store = try DocumentStore(
            engine: engine, now: { Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)) },
            elapsed: { .zero })
        try store.start()
        try await store.isSound()
        try await compare(store)
        if isLast {
            let load = try EventLoad(store: store, name: "last", seed: 1) { _, _ in }
            try await load.drain()
            try await store.isSound()
            try await compare(store)
            guard try await store.outbox.counts().isEmpty else { throw Anomaly(description: "deliveries are left") }
        }
        await store.shutdown()
        try engine.close()
    }

    private mutating func compare(_ store: DocumentStore) async throws {
        let orders = Set(try await store.all(Query(collectionID: "orders")).map(\.path.id))
        self.orders = orders.count
        guard acknowledged.isSubset(of: orders) else {
            throw Anomaly(description: "orders are missing: \(acknowledged.subtracting(orders).prefix(5))")
        }
        let (left, carts) = try await deliveries(in: store)
        let marks = Dictionary(
            uniqueKeysWithValues: try await store.all(Query(collectionID: "marks")).map { ($0.path.id, $0.number("n")) }
        )
        let receipts = Set(try await store.all(Query(collectionID: "receipts")).map(\.path.id))
        for id in orders {
            let counted = marks["tally-\(id)"] ?? 0
            guard counted == (left[.tally]?.contains(id) ?? false ? 0 : 1) else {
                throw Anomaly(description: "the order \(id) is counted \(counted) times")
            }
            guard receipts.contains(id) != (left[.mail]?.contains(id) ?? false) else {
                throw Anomaly(description: "the order \(id) has both or neither of its receipt and the task of it")
            }
            guard receipts.contains(id) != (left[.remind]?.contains(id) ?? false) else {
                throw Anomaly(description: "the order \(id) has both or neither of its receipt and the reminder of it")
            }
            guard left[.mark]?.contains(id) ?? false || (marks["mark-\(id)"] ?? 0) > 0 else {
                throw Anomaly(description: "no function received the order \(id)")
            }
        }
        let tallies = try await store.all(Query(collectionID: "tallies")).reduce(0) { $0 + $1.number("n") }
        let counted = marks.filter { $0.key.hasPrefix("tally-") }
        guard tallies == Int64(counted.count), counted.count <= orders.count, receipts.isSubset(of: orders) else {
            throw Anomaly(description: "\(counted.count) orders are counted, and their sum is \(tallies)")
        }
        let copies = Dictionary(
            uniqueKeysWithValues: try await store.all(Query(collectionID: "copies")).map { ($0.path.id, $0) })
        for cart in try await store.all(Query(collectionID: "carts")) {
            let (number, copied) = (cart.number("number"), copies[cart.path.id]?.number("number") ?? 0)
            // What isn't there yet is still pending, each number once.
            guard number - copied == Int64(carts[cart.path.id] ?? 0) else {
                throw Anomaly(description: "\(cart.path) is at \(number), its copy at \(copied)")
            }
        }
    }

    /// The orders whose events are pending, and the number of pending changes of each cart.
    private func deliveries(
        in store: DocumentStore
    ) async throws -> (orders: [EventLoad.Function: Set<String>], carts: [String: Int]) {
        var (orders, carts) = ([EventLoad.Function: Set<String>](), [String: Int]())
        for areDead in [false, true] {
            var last: DeliveryID?
            while true {
                let page = try await store.outbox.deliveries(areDead: areDead, after: last, limit: 500)
                for delivery in page {
                    guard let function = EventLoad.Function(rawValue: delivery.id.function),
                        let stored = try await store.outbox.delivery(delivery.id)
                    else { throw Anomaly(description: "\(delivery.id) is gone, or has no function") }
                    switch try Event(decoding: stored.event).content {
                    case .document(let path, _, _) where function == .follow: carts[path.id, default: 0] += 1
                    case .document(let path, _, _): orders[function, default: []].insert(path.id)
                    case .task(let task):
                        orders[function, default: []].insert(String(decoding: task.body, as: UTF8.self))
                    default: break
                    }
                }
                last = page.last?.id
                guard page.count == 500 else { break }
            }
        }
        return (orders, carts)
    }
}

extension Document {
    fileprivate func number(_ name: String) -> Int64 {
        guard case .integer(let number) = fields[name] else { return 0 }
        return number
    }
}
