import Foundation

/// Measures how fast a host with the shop starts, and how much memory it uses while idle.
struct HostStartBenchmark: Benchmark {
    static let name = "start"

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        let count = pace.count(9, quick: 5)
        var section = Section("Start with the shop until all ports answer, \(count) times; memory while idle")
        var (new, known): ([Double], [Double]) = ([], [])
        for index in 0..<count {
            let folder = try folder("start-\(index)", in: directory)
            for isNew in [true, false] {
                let time = try await HostProcess.with(["ShopFunctions"], in: folder) { $0.startTime.seconds }
                if isNew { new.append(time) } else { known.append(time) }
            }
        }
        section.add(
            Row("start: p50", .milliseconds(LoadReport.median(known)), aim: .atMost(.milliseconds(0.3))))
        section.add(
            Row(
                "first start, new data directory: p50", .milliseconds(LoadReport.median(new)),
                aim: .atMost(.milliseconds(0.3))))
        let (fresh, used) = try await HostProcess.with(["ShopFunctions"], in: folder("memory", in: directory)) { host in
            // What its idle work needs of the program is in memory then.
            try await Task.sleep(for: .seconds(5))
            let fresh = try host.child.tree.residentBytes()
            try await callEachFunction(host)
            return (fresh, try host.child.tree.residentBytes())
        }
        section.add(Row("memory, no worker yet", .bytes(fresh), aim: .atMost(.bytes(60_000_000))))
        section.add(Row("memory, a worker of each function", .bytes(used), aim: .atMost(.bytes(60_000_000))))
        return section
    }

    private func callEachFunction(_ host: HostProcess) async throws {
        let port = host.ports.functions
        guard let user = try await host.signUp(1).first else { throw LoadError("the sign-up returned no user") }
        let refused = try await Load.ask(
            Requests(port: port, token: user.idToken).post(HostProcess.path("purchase"), #"{"data":null}"#), of: port)
        guard refused.status == 400 else { throw LoadError("a purchase without a cart: \(refused.excerpt)") }
        let catalog = try await Load.ask(Requests(port: port).get(HostProcess.path("catalog")), of: port)
        guard catalog.status == 200 else { throw LoadError("the catalog: \(catalog.excerpt)") }
    }
}
