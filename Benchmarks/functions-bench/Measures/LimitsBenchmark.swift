import Foundation
import NIOCore

/// Measures the cost of enforcing limits (a rate limit on each call, and the checks of workers' memory), and how soon
/// they take effect.
struct LimitsBenchmark: Benchmark {
    static let name = "limits"
    private static let clients = 16
    private static let workers = 16

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        try await HostProcess.with(["FixtureFunctions"], in: directory) { host in
            var section = Section(
                "Enforcing limits: a rate limit with \(Self.clients) clients, and checks of \(Self.workers) workers",
                notes: [
                    "reference of the calls: the same function without a rate limit",
                    "reference of the checks: the host with the same workers idle",
                    "each busy worker is checked 20 times a second; the host's own CPU, without its workers'",
                ])
            var (limited, open) = (LoadReport(), LoadReport())
            for _ in 0..<pace.rounds {
                limited.add(try await load("limited", host))
                open.add(try await load("unlimited", host))
            }
            section.add("with a rate limit", limited, beside: open, cpu: .ratioAtMost(1.1))
            let (busy, idle) = try await memoryChecks(host)
            section.add(
                Row(
                    "checking \(Self.workers) workers: CPU per second", .microseconds(busy),
                    beside: .microseconds(idle), aim: .atMost(.milliseconds(0.02))))
            let late = try await lateAnswers(host)
            section.add(
                Row("past the deadline: p50", .milliseconds(LoadReport.median(late)), aim: .atMost(.milliseconds(0.05)))
            )
            section.add(Row("past the deadline: maximum", .milliseconds(late.max() ?? 0)))
            let grown = try await overgrowths(host)
            section.add(
                Row(
                    "past the memory limit, 1 MiB per ms: p50", .milliseconds(LoadReport.median(grown)),
                    aim: .atMost(.milliseconds(0.2))))
            section.add(Row("past the memory limit, 1 MiB per ms: maximum", .milliseconds(grown.max() ?? 0)))
            return section
        }
    }

    /// - Returns: how many seconds after its deadline each of several calls was answered.
    private func lateAnswers(_ host: HostProcess) async throws -> [Double] {
        let (port, deadline) = (host.ports.functions, 3.0)
        let request = Requests(port: port).post(Self.path("hangs"), #"{"data":null}"#)
        return try await withThrowingTaskGroup(of: Double.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    let start = ContinuousClock.now
                    _ = try await Load.ask(request, of: port)
                    return (ContinuousClock.now - start).seconds - deadline
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// - Returns: how far several functions that allocate a MiB per millisecond exceeded their memory limit, in
    ///   seconds.
    private func overgrowths(_ host: HostProcess) async throws -> [Double] {
        let body = #"{"data":{"mebibytes":1000,"pause":950}}"#
        let request = Requests(port: host.ports.functions).post(Self.path("allocates"), body)
        let count = pace.count(10, quick: 4)
        for _ in 0..<count { _ = try await Load.ask(request, of: host.ports.functions) }
        return try await host.child.wait(for: "\(count) ends") {
            let ends = host.child.output.matches(of: /memory, (\d+) MiB used of (\d+) MiB/)
            return ends.count < count
                ? nil : ends.compactMap { end in Double(end.1).flatMap { used in Double(end.2).map { used - $0 } } }
        }.map { $0 / 1000 }
    }

    private func load(_ function: String, _ host: HostProcess) async throws -> LoadReport {
        let request = Requests(port: host.ports.functions).post(Self.path(function), #"{"data":1}"#)
        let caller = RepeatingCaller([request]) { $0.status == 200 }
        return try await Load.run(
            Array(repeating: caller, count: Self.clients), to: host.ports.functions, for: pace.length,
            of: host.child.tree)
    }

    /// - Returns: the host's own CPU seconds per second, with its workers busy and idle.
    private func memoryChecks(_ host: HostProcess) async throws -> (busy: Double, idle: Double) {
        let port = host.ports.functions
        let seconds = pace.count(5, quick: 2)
        // These handlers only wait, so they use no CPU themselves.
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
        // A worker counts as idle only after a while.
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
