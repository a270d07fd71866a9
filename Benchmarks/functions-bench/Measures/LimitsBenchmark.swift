import Foundation
import NIOCore

/// What it costs to hold functions to their limits: a rate limit in each call, and the looks at workers' memory.
struct LimitsBenchmark: Benchmark {
    static let name = "limits"
    private static let clients = 16
    private static let workers = 16

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        try await HostProcess.with(["FixtureFunctions"], in: directory) { host in
            var section = Section(
                "Limits that hold: a rate limit with \(Self.clients) clients, and looks at \(Self.workers) workers",
                notes: [
                    "reference of the calls: the same function without a rate limit",
                    "reference of the looks: the host with the same workers at rest",
                    "each worker at work is looked at 20 times a second; the host's own CPU, without its workers'",
                ])
            var (limited, open) = (LoadReport(), LoadReport())
            for _ in 0..<pace.rounds {
                limited.add(try await load("limited", host))
                open.add(try await load("unlimited", host))
            }
            section.add("with a rate limit", limited, beside: open, cpu: .ratioAtMost(1.1))
            let (working, resting) = try await looks(host)
            section.add(
                Row(
                    "looking at \(Self.workers) workers: CPU a second", .microseconds(working),
                    beside: .microseconds(resting), aim: .atMost(.milliseconds(0.02))))
            return section
        }
    }

    private func load(_ function: String, _ host: HostProcess) async throws -> LoadReport {
        let request = Requests(port: host.ports.functions).post(Self.path(function), #"{"data":1}"#)
        let caller = RepeatingCaller([request]) { $0.status == 200 }
        return try await Load.run(
            Array(repeating: caller, count: Self.clients), to: host.ports.functions, for: pace.length,
            of: host.child.tree)
    }

    /// - Returns: seconds of the host's own CPU in a second, with its workers at work and at rest.
    private func looks(_ host: HostProcess) async throws -> (working: Double, resting: Double) {
        let port = host.ports.functions
        let seconds = pace.count(5, quick: 2)
        // They wait, and take no time of their own.
        let request = Requests(port: port).post(Self.path("oneAtATime"), "{\"data\":\((seconds + 3) * 1000)}")
        let before = try host.child.tree.count()
        let working = try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.workers { group.addTask { _ = try await Load.ask(request, of: port) } }
            try await host.child.wait(for: "\(Self.workers) workers") {
                try host.child.tree.count() >= before + Self.workers ? () : nil
            }
            let working = try await cpu(of: host, forSeconds: seconds)
            try await group.waitForAll()
            return working
        }
        // A worker counts as resting after a while.
        try await Task.sleep(for: .seconds(2))
        return (working, try await cpu(of: host, forSeconds: seconds))
    }

    private func cpu(of host: HostProcess, forSeconds seconds: Int) async throws -> Double {
        let start = try host.child.tree.rootCPUSeconds()
        try await Task.sleep(for: .seconds(seconds))
        return (try host.child.tree.rootCPUSeconds() - start) / Double(seconds)
    }

    private static func path(_ function: String) -> String { "/\(HostProcess.project)/us-central1/\(function)" }
}
