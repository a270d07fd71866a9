import Foundation
import NIOCore

/// Measures what honest users notice of attacks: gets of another user and purchases, with each attack and without.
struct AttackBenchmark: Benchmark {
    static let name = "attacks"
    private static let products = 20_000
    private static let users = 200
    private static let nullDocuments = 300
    private static let heavyDocuments = 20

    var pace: Pace

    /// Requests that one or many attackers send over and over.
    private struct Attack {
        var name: String
        var port: Int
        var callers: [any Caller]
    }

    private struct Figures {
        var gets: LoadReport
        var purchases: LoadReport
    }

    func run(in directory: URL) async throws -> Section {
        try await HostProcess.with(["ShopFunctions", "FixtureFunctions"], in: directory) { host in
            let shop = try await ShopData(host, buyersPerClient: pace.count(20, quick: 6))
            try await shop.purchase(expecting: 400).check()
            let documents = Documents(port: host.ports.firestore)
            try await documents.store(
                (0..<Self.products).map { Documents.set("products/bulk\($0)", Documents.product($0)) })
            let large = String(repeating: "x", count: 1_000_000)
            try await documents.store([Documents.set("large/1", #""a":{"stringValue":"\#(large)"}"#)])
            for number in 0..<Self.nullDocuments {
                try await documents.store([Documents.set("products/nulls\(number)", Self.nulls)])
            }
            for number in 0..<Self.heavyDocuments {
                try await documents.store([Documents.set("products/heavy\(number)", Self.heavy)])
            }
            let users = try await host.signUp(Self.users)
            var section = Section(
                "Honest users beside attackers, \(Self.products) products",
                notes: [
                    "reference: the same without the attack, just before",
                    "gets: one user with 4 connections; purchases: \(ShopData.clients) clients",
                ])
            for attack in attacks(host, users) {
                let calm = try await measure(shop, users[0])
                let watch = Task { try await host.child.tree.peakResidentBytes() }
                defer { watch.cancel() }
                let attacked = try await Load.during(attack.callers, to: attack.port) {
                    try await Task.sleep(for: .milliseconds(500))
                    return try await measure(shop, users[0])
                }
                section.check(attacked.gets, "gets beside \(attack.name)")
                section.check(attacked.purchases, "purchases beside \(attack.name)")
                for (what, ours, reference) in [
                    ("get", attacked.gets, calm.gets), ("purchase", attacked.purchases, calm.purchases),
                ] {
                    section.add(
                        Row(
                            "\(what) beside \(attack.name): p99", .milliseconds(ours.percentile(0.99)),
                            beside: .milliseconds(reference.percentile(0.99)), aim: .ratioAtMost(5)))
                }
                watch.cancel()
                section.add(
                    Row(
                        "peak memory beside \(attack.name)", .bytes(try await watch.value),
                        aim: .atMost(.bytes(600_000_000))))
            }
            return section
        }
    }

    private func measure(_ shop: ShopData, _ user: HostProcess.User) async throws -> Figures {
        let port = shop.host.ports.firestore
        let get = Requests(port: port, token: user.idToken).get("/v1/\(Documents.root)/products/p1")
        let callers = (0..<4).map { _ in RepeatingCaller([get]) }
        let gets = try await Load.run(callers, to: port, for: pace.length, of: shop.host.child.tree)
        try await shop.fillCarts(.separate)
        return Figures(gets: gets, purchases: try await shop.purchase())
    }

    // MARK: Attacks

    private func attacks(_ host: HostProcess, _ users: [HostProcess.User]) -> [Attack] {
        let port = host.ports.firestore
        func path(_ verb: String) -> String { "/v1/\(Documents.root):\(verb)" }
        // What they are answered doesn't matter.
        func caller(_ requests: [ByteBuffer], from start: Int = 0) -> RepeatingCaller {
            RepeatingCaller(requests, from: start) { _ in true }
        }
        let query = Requests(port: port, token: users[1].idToken).post(path("runQuery"), Self.costlyQuery)
        let delete = Requests(port: port).post(path("commit"), Self.deletes)
        let begins = users.dropFirst(2).map {
            Requests(port: port, token: $0.idToken).post(path("beginTransaction"), "{}")
        }
        let flood = Requests(port: host.ports.functions)
            .post("/\(HostProcess.project)/us-central1/rogue", #"{"data":"readsNothing"}"#)
        let get = Requests(port: port, token: users[1].idToken).post(path("batchGet"), Self.batchGet(15))
        let getMore = Requests(port: port, token: users[1].idToken).post(path("batchGet"), Self.batchGet(300))
        let body = Requests(port: port, token: users[1].idToken)
            .post(path("commit"), #"{"writes":["# + String(repeating: " ", count: 10_000_000) + "]}")
        let heavyGet = Requests(port: port, token: users[1].idToken).post(path("batchGet"), Self.heavyGet)
        let masked = Requests(port: port, token: users[1].idToken).post(path("batchGet"), Self.maskedGet)
        let values = Requests(port: port, token: users[1].idToken).post(path("commit"), Self.manyValues)
        return [
            Attack(name: "costly queries", port: port, callers: (0..<8).map { _ in caller([query]) }),
            Attack(name: "125,000 deletes", port: port, callers: (0..<2).map { _ in caller([delete]) }),
            Attack(name: "transactions", port: port, callers: (0..<16).map { caller(begins, from: $0 * 12) }),
            Attack(name: "answers of nulls", port: port, callers: (0..<8).map { _ in caller([get, getMore]) }),
            Attack(
                name: "a worker that reads nothing", port: host.ports.functions,
                callers: (0..<2).map { _ in caller([flood]) }),
            Attack(name: "bodies of 10 MB", port: port, callers: (0..<8).map { _ in caller([body]) }),
            Attack(name: "bodies of 540,000 values", port: port, callers: (0..<8).map { _ in caller([values]) }),
            Attack(name: "gets of large documents", port: port, callers: (0..<8).map { _ in caller([heavyGet]) }),
            Attack(name: "masks of 50,000 paths", port: port, callers: (0..<8).map { _ in caller([masked]) }),
        ]
    }

    /// An OR of 30 ANDs, each of which reads much and finds nothing, in an order that no index has.
    private static var costlyQuery: String {
        func field(_ name: String, _ op: String, _ value: Int) -> String {
            #"{"fieldFilter":{"field":{"fieldPath":"\#(name)"},"op":"\#(op)","value":{"integerValue":"\#(value)"}}}"#
        }
        let parts = (0..<30).map { number in
            let filters = [
                field("number", "LESS_THAN", 10_000 - number * 10),
                field("group", "GREATER_THAN_OR_EQUAL", 100 + number % 10), field("price", "GREATER_THAN", 0),
            ]
            return #"{"compositeFilter":{"op":"AND","filters":[\#(filters.joined(separator: ","))]}}"#
        }
        return #"{"structuredQuery":{"from":[{"collectionId":"products"}],"where":{"compositeFilter":{"op":"OR","#
            + #""filters":[\#(parts.joined(separator: ","))]}},"orderBy":[{"field":{"fieldPath":"name"}},"#
            + #"{"field":{"fieldPath":"stock"}}],"limit":1}}"#
    }

    /// A field that takes 40 KB in the store, and twenty times as much as JSON, with hardly any index entries.
    private static var nulls: String {
        let values = Array(repeating: #"{"nullValue":null}"#, count: 39_990).joined(separator: ",")
        let list = #"{"mapValue":{"fields":{"n":{"arrayValue":{"values":[\#(values)]}}}}}"#
        return #""a":{"arrayValue":{"values":[\#(list)]}}"#
    }

    private static func batchGet(_ count: Int) -> String {
        let names = (0..<count).map { #""\#(Documents.root)/products/nulls\#($0)""# }
        return #"{"documents":[\#(names.joined(separator: ","))]}"#
    }

    /// A megabyte of small values with hardly any index entries.
    private static var heavy: String {
        let fields = (0..<130_000).map { #""\#($0)":{"nullValue":null}"# }.joined(separator: ",")
        return #""a":{"arrayValue":{"values":[{"mapValue":{"fields":{\#(fields)}}}]}}"#
    }

    private static var heavyGet: String {
        let names = (0..<heavyDocuments).map { #""\#(Documents.root)/products/heavy\#($0)""# }
        return #"{"documents":[\#(names.joined(separator: ","))]}"#
    }

    private static var maskedGet: String {
        let names = (0..<100).map { #""\#(Documents.root)/products/bulk\#($0)""# }
        let paths = (0..<50_000).map { #""a.f\#($0)""# }
        return
            #"{"documents":[\#(names.joined(separator: ","))],"mask":{"fieldPaths":[\#(paths.joined(separator: ","))]}}"#
    }

    private static var manyValues: String {
        let values = Array(repeating: #"{"nullValue":null}"#, count: 540_000).joined(separator: ",")
        return
            #"{"writes":[{"update":{"name":"\#(Documents.root)/p/1","fields":{"a":{"arrayValue":{"values":[\#(values)]}}}}}]}"#
    }

    private static var deletes: String {
        let writes = (0..<125_000).map { #"{"delete":"\#(Documents.root)/p/\#($0)"}"# }
        return #"{"writes":[\#(writes.joined(separator: ","))]}"#
    }
}
